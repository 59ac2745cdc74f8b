// What CI does about test files that failed beside others: looks at them again, alone. It must never make a broken thing pass:
// decision 17 says what it may forgive, and that it says so.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from './setup.mjs';

/** More than these at once is no chance: something is broken. */
export const MOST_FILES = 3;
/** How often each of them has to pass, one after the other. */
export const TIMES = 3;
export const isCi = () => !['', '0', 'false'].includes(process.env.CI ?? '');

/** What vitest is told so that readReport() finds something at `file`; `file` goes with it in the environment. */
export const reporting = {
  args: ['--reporter=default', `--reporter=${join(root, 'scripts', 'run-reporter.mjs')}`],
  env: (file) => ({ ISTHMUS_TEST_REPORT: file }),
};

/** null: it did not come to a report. */
export function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * The files of a report that failed, each with its failed tests (none: it failed as a whole). Nothing, where more than tests has failed:
 * an error that nobody handled, a worker that died, a run that was cut short.
 */
export function failedFiles(report) {
  if (report === null || report.reason === 'interrupted' || report.unhandledErrors > 0) return [];
  const isOver = ({ state }) => state === 'passed' || state === 'failed' || state === 'skipped';
  if (!report.files.every((each) => isOver(each) && each.tests.every(isOver))) return [];
  return report.files
    .filter(({ state }) => state === 'failed')
    .map(({ file, tests }) => ({
      file: relative(root, file),
      tests: tests.filter(({ state }) => state === 'failed').map(({ name }) => name),
    }));
}

/** `failed`: as above. `again(file)` runs one file alone and resolves with its exit code. Resolves with the exit code of it all. */
export async function secondLook(
  failed,
  again,
  { times = TIMES, say = (line) => process.stderr.write(line) } = {},
) {
  if (failed.length === 0 || failed.length > MOST_FILES) return 1;
  for (const { file } of failed) {
    for (let time = 1; time <= times; time += 1) {
      say(`\n· ${file} failed; alone, ${time} of ${times}\n`);
      if ((await again(file)) !== 0) {
        say(`\n✗ ${file} fails alone too\n`);
        return 1;
      }
    }
  }
  say(`\n! UNSTEADY: failed beside other tests, passed ${times} times alone. To be mended all the same:\n`);
  for (const { file, tests } of failed)
    for (const test of tests.length > 0 ? tests : ['all of it']) say(`!   ${file}: ${test}\n`);
  return 0;
}

/** Runs vitest by `run(args, env)`; in CI, and only when all files are asked for, with a second look. */
export async function runVitest(run, args, chosen, options = {}) {
  if (!isCi() || chosen.length > 0) return run([...args, ...chosen], {});
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-report-'));
  try {
    const file = join(directory, 'report.json');
    const code = await run([...args, ...reporting.args], reporting.env(file));
    if (code === 0) return 0;
    return await secondLook(failedFiles(readReport(file)), (each) => run([...args, each], {}), options);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
