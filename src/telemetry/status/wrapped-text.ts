// Breaks lines between words, lays out tables and counts things. Pure.

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

export interface TableRow {
  readonly cells: readonly string[];
  /** Follows the cells, on as many lines as it needs. */
  readonly sentence?: string;
  /** Lines below the row. */
  readonly below?: readonly string[];
}

/** The width of the pages for people. */
export const PAGE_WIDTH = 100;
/** A sentence in a narrower column is not readable. */
const NARROWEST = 40;

/** Each column is as wide as its widest cell, or as the text in `least`. */
export function tableLines(rows: readonly TableRow[], least: readonly string[] = []): string[] {
  const widthOf = (column: number): number =>
    Math.max(least[column]?.length ?? 0, ...rows.map(({ cells }) => cells[column]?.length ?? 0));
  const widths = (rows[0]?.cells ?? []).map((_, column) => widthOf(column));
  return rows.flatMap(({ cells, sentence, below = [] }) => {
    const start = `  ${cells.map((cell, column) => cell.padEnd(widths[column] as number)).join('  ')}  `;
    if (sentence === undefined) return [start.trimEnd(), ...below];
    // After a long name the sentence starts on its own line.
    if (PAGE_WIDTH - start.length < NARROWEST)
      return [start.trimEnd(), ...wrapped(`      ${sentence}`, PAGE_WIDTH, 6), ...below];
    return [...wrapped(`${start}${sentence}`, PAGE_WIDTH, start.length), ...below];
  });
}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
