// The output of `isthmus doctor`, as text and as JSON. Pure.
import type { CheckResult } from './check.ts';

const KIND_WIDTH = 'problem'.length;

/** One line for the finding, and one for the advice if there is any. */
export function resultText({ name, finding }: CheckResult, nameWidth: number): string {
  const kind = finding.kind === 'skipped' ? '-' : finding.kind;
  const head = `${kind.padEnd(KIND_WIDTH)}  ${name.padEnd(nameWidth)}  `;
  const fix = 'fix' in finding ? `${' '.repeat(head.length)}${finding.fix}\n` : '';
  return `${head}${oneLine(finding.found)}\n${fix}`;
}

export function summaryText(results: readonly CheckResult[]): string {
  const count = (kind: string) => results.filter(({ finding }) => finding.kind === kind).length;
  const [problems, warnings, left] = [count('problem'), count('warning'), count('skipped')];
  const parts = [
    problems === 0 ? 'no problem' : counted(problems, 'problem'),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
    ...(left === 0 ? [] : [`${left} not checked`]),
  ];
  return `\n${parts.join(', ')}\n`;
}

export function reportJson(version: string, results: readonly CheckResult[]): string {
  const checks = results.map(({ name, finding }) => ({
    check: name,
    result: finding.kind,
    found: finding.found,
    fix: 'fix' in finding ? finding.fix : null,
  }));
  return `${JSON.stringify({ version, ok: isWell(results), checks }, null, 2)}\n`;
}

export const isWell = (results: readonly CheckResult[]): boolean =>
  results.every(({ finding }) => finding.kind !== 'problem');

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Findings quote files and servers. Line breaks are removed: quoted text must not look like another line of the report. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed here
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ');
}
