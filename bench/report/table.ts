// Formats Markdown tables and the numbers in them.

export function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

export const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;
export const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows].join('\n');

/** A program's output may contain line breaks and vertical bars, which a table cell cannot hold. */
export const inCell = (said: string): string =>
  said.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 200);
