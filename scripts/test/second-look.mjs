// In CI, runs failed test files again, each one alone, to separate unstable tests from broken code. It must never let broken code
// pass: decision 17 defines which failures it tolerates and requires that it reports them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root } from '../setup/setup.mjs';

/** If more files than this fail in one run, the cause is a defect and not chance. */
export const MOST_FILES = 3;
/** How many times in a row each failed file must pass. */
export const TIMES = 3;
export const isCi = () => !['', '0', 'false'].includes(process.env.CI ?? '');

/** The arguments and environment that make vitest write the report that readReport() reads from `file`. */
export const reporting = {
  args: ['--reporter=default', `--reporter=${join(root, 'scripts', 'test', 'run-reporter.mjs')}`],
  env: (file) => ({ ISTHMUS_TEST_REPORT: file }),
};

/** Returns null if the run wrote no report. */
export function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * Returns the failed files of a report, each with its failed tests. A file without failed tests failed as a whole. Returns an empty
 * list if more than tests failed: an unhandled error, a dead worker or an interrupted run.
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

/** `failed` comes from failedFiles(). `again(file)` runs one file alone and resolves with its exit code. Resolves with 0 or 1. */
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
  say(`\n! UNSTEADY: failed beside other tests, passed ${times} times alone. Fix them:\n`);
  for (const { file, tests } of failed)
    for (const test of tests.length > 0 ? tests : ['all of it']) say(`!   ${file}: ${test}\n`);
  return 0;
}

/**
 * Runs vitest through `run(args, env)`. Adds the second look only in CI and only if no file was chosen. `all` are vitest's filters for a
 * run without a choice.
 */
export async function runVitest(run, args, chosen, { all = [], ...options } = {}) {
  if (!isCi() || chosen.length > 0) return run([...args, ...(chosen.length > 0 ? chosen : all)], {});
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-report-'));
  try {
    const file = join(directory, 'report.json');
    const code = await run([...args, ...reporting.args, ...all], reporting.env(file));
    if (code === 0) return 0;
    return await secondLook(failedFiles(readReport(file)), (each) => run([...args, each], {}), options);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
