// `npm run nightly`: everything that CI runs, in its long form. It goes on after a failed part and ends with a table of all parts.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../setup/setup.mjs';

/** How often all tests are repeated. Properties draw new cases in each run, and a rare failure of timing becomes likely. */
const SOAK_RUNS = 3;

/** Each part is an npm script with its arguments. Without CI=1 no failure is tolerated (decision 17). */
export const PARTS = [
  { name: 'check', args: ['check'] },
  ...Array.from({ length: SOAK_RUNS }, (_, index) => ({
    name: `test ${index + 1} of ${SOAK_RUNS}`,
    args: ['test'],
    env: { ISTHMUS_TEST_LONG: '1' },
  })),
  { name: 'demo', args: ['demo', '--once'] },
  { name: 'sanitizers', args: ['test:sanitize'] },
  { name: 'end-to-end', args: ['test:e2e'] },
  { name: 'chart', args: ['test:helm'] },
  { name: 'image', args: ['test:image'] },
  { name: 'nodes', args: ['test:node'] },
  { name: 'deb', args: ['test:deb'] },
  { name: 'systemd', args: ['test:systemd'] },
  { name: 'unprivileged', args: ['test:unprivileged', '--all'] },
  // The run is judged, not published: BENCH_RESULTS keeps bench/results and README.md unchanged.
  {
    name: 'bench',
    args: ['bench', '--check'],
    env: { BENCH_RESULTS: join(root, '.cache', 'bench', 'nightly') },
  },
  { name: 'bench control', args: ['bench', 'control'] },
];

/** Returns the parts whose name contains one of `words`, or all parts if there are no words. */
export function chosenParts(words, parts = PARTS) {
  const chosen = parts.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  if (chosen.length === 0)
    throw new Error(
      `no part is called ${words.join(' or ')}. Choose from ${parts.map(({ name }) => name).join(', ')}`,
    );
  return chosen;
}

function runPart({ args, env = {} }) {
  const { CI, ...rest } = process.env;
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'scripts', 'task.mjs'), ...args], {
      cwd: root,
      env: { ...rest, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', () => resolve(1));
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const inMinutes = (ms) => (ms / 60_000).toFixed(1);

/** Runs the chosen parts one after another. Resolves with 0 if all of them passed. */
export async function runNightly(
  words,
  { parts = PARTS, run = runPart, say = (line) => process.stderr.write(line) } = {},
) {
  const chosen = chosenParts(words, parts);
  const started = Date.now();
  const rows = [];
  for (const [index, part] of chosen.entries()) {
    say(
      `\n=== part ${index + 1} of ${chosen.length}: ${part.name} (after ${inMinutes(Date.now() - started)} min)\n`,
    );
    const from = Date.now();
    const code = await run(part);
    rows.push({ ...part, code, minutes: inMinutes(Date.now() - from) });
  }
  const width = Math.max(...chosen.map(({ name }) => name.length));
  say(`\n${'part'.padEnd(width)}  result  minutes  exit code\n`);
  for (const { name, code, minutes } of rows)
    say(
      `${name.padEnd(width)}  ${(code === 0 ? 'passed' : 'FAILED').padEnd(6)}  ${minutes.padStart(7)}  ${`${code}`.padStart(9)}\n`,
    );
  return rows.every(({ code }) => code === 0) ? 0 : 1;
}
