// Breaks a line between words. Pure.

/** Lines of at most `width`, all but the first indented. A longer word is not split. Leading blanks of the text are kept. */
export function wrapped(text: string, width: number, indent: number): string[] {
  const lines: string[] = [];
  const lead = /^ */.exec(text)?.[0] ?? '';
  let line = lead;
  let isEmpty = true;
  // Runs of blanks separate columns: they are kept.
  for (const [, gap = '', word = ''] of text.slice(lead.length).matchAll(/( *)([^ ]+)/g)) {
    if (!isEmpty && line.length + gap.length + word.length > width) {
      lines.push(line);
      line = `${' '.repeat(indent)}${word}`;
    } else {
      line += isEmpty ? word : `${gap}${word}`;
    }
    isEmpty = false;
  }
  return [...lines, line];
}
