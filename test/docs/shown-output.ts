// Compares what a block printed with what its page shows. In the page, `…` stands for any text within a line, and a line that is only
// `…` stands for any number of lines. Everything else must be equal, except spaces at the end of a line.

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

function patternOf(line: string): string {
  if (line.trim() === '…') return '(?:.*\n)*?';
  return `${line.trimEnd().split('…').map(escaped).join('.*')}\n`;
}

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim();

export function isAsShown(shown: string, printed: string): boolean {
  const pattern = new RegExp(`^${shown.trimEnd().split('\n').map(patternOf).join('')}$`);
  return pattern.test(`${tidy(printed)}\n`);
}
