// Runs the files of test/e2e or test/node, two at a time because they mostly wait. Each file gets its own sandbox: all files use the same
// names and addresses, and no file sees state that another one left behind.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { runInSandbox } from '../sandbox/sandbox.mjs';
import { MissingError } from '../setup/problems.mjs';
import { childEnvironment, pinnedNode, root } from '../setup/setup.mjs';
import { failedFiles, isCi, readReport, reporting, secondLook } from './second-look.mjs';

/** The longest files run first and the short ones fill the gaps. All others follow in order of name. */
const LONGEST = ['recovery', 'at-rest', 'upstream', 'conversion', 'traffic', 'instances'];
/** Memory that one site needs with all its API servers. */
const BYTES_PER_SITE = 2 * 2 ** 30;
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
/** `around` may prepare each sandbox: it returns its environment variables, and `close`. */
const END_TO_END = { name: 'e2e', sites: 2, around: () => ({ env: {}, close: async () => {} }) };

function order(name) {
  const place = LONGEST.indexOf(name);
  return place < 0 ? LONGEST.length : place;
}

/** Returns the files whose name contains one of `words`, or all files if there are no words. */
export function chosenFiles(all, words) {
  const chosen = all.filter((name) => words.length === 0 || words.some((word) => name.includes(word)));
  if (chosen.length === 0)
    throw new MissingError([
      { what: `no file is called ${words.join(' or ')}`, fix: `choose from ${all.join(', ')}` },
    ]);
  return chosen.sort((left, right) => order(left) - order(right) || (left < right ? -1 : 1));
}

function sitesAtATime(sites) {
  const wanted = Number(process.env.ISTHMUS_E2E_SITES || sites);
  return Math.max(1, Math.min(wanted, availableParallelism(), Math.floor(totalmem() / BYTES_PER_SITE)));
}

const inMinutes = (ms) => `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;

/**
 * `args` holds words of file names, followed by options for vitest (`-t …`). `suite` names the files: test/<name>/*.<name>.ts. Resolves with
 * the exit code.
 */
export async function runEndToEnd(args, env, { name: suite, sites, around } = END_TO_END) {
  const directory = join(root, '.cache', `${suite}-logs`);
  const options = args.findIndex((arg) => arg.startsWith('-'));
  const words = options < 0 ? args : args.slice(0, options);
  const forVitest = options < 0 ? [] : args.slice(options);
  const suffix = `.${suite}.ts`;
  const all = readdirSync(join(root, 'test', suite)).filter((name) => name.endsWith(suffix));
  const waiting = chosenFiles(all.map((name) => name.slice(0, -suffix.length)).sort(), words);
  rmSync(directory, { recursive: true, force: true });

  const started = Date.now();
  const outcomes = [];
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (interrupted = true));
  const runFile = async (name, logs = join(directory, name)) => {
    mkdirSync(logs, { recursive: true });
    const from = Date.now();
    process.stderr.write(`· ${name} begins\n`);
    const report = join(logs, 'report.json');
    const prepared = await around();
    const own = { ...env, ...prepared.env, ISTHMUS_E2E_LOGS: logs, ...reporting.env(report) };
    const command = [
      vitest,
      'run',
      '--config',
      `vitest.${suite}.config.ts`,
      ...reporting.args,
      ...forVitest,
      `test/${suite}/${name}${suffix}`,
    ];
    const sandboxed = runInSandbox(pinnedNode, command, { cwd: root, env: childEnvironment(own) });
    const code = await sandboxed.finally(prepared.close);
    const failed = code === 0 ? [] : failedFiles(readReport(report));
    if (code === 0) rmSync(logs, { recursive: true, force: true });
    process.stderr.write(`${code === 0 ? '✓' : '✗'} ${name} took ${inMinutes(Date.now() - from)}\n`);
    return { name, code, logs, failed };
  };
  const runFiles = async () => {
    for (let name = waiting.shift(); name !== undefined && !interrupted; name = waiting.shift())
      outcomes.push(await runFile(name));
  };
  await Promise.all(Array.from({ length: sitesAtATime(sites) }, runFiles));

  const failed = outcomes.filter(({ code }) => code !== 0);
  const untried = waiting.length === 0 ? '' : `, ${waiting.length} not begun`;
  process.stderr.write(
    `\n${outcomes.length - failed.length} files passed, ${failed.length} failed${untried}, `,
  );
  process.stderr.write(`in ${inMinutes(Date.now() - started)}\n`);
  for (const { name, logs } of failed)
    process.stderr.write(
      `✗ ${name}: the logs of etcd, kube-apiserver, Isthmus and the others are in ${logs}\n`,
    );
  if (failed.length === 0 && waiting.length === 0) return 0;
  if (interrupted || waiting.length > 0 || words.length > 0 || !isCi()) return 1;
  // An empty list means that the file failed outside its tests. A retry must not hide that.
  if (failed.some((each) => each.failed.length === 0)) return 1;
  // Retries log to another directory, so the logs of the failure survive.
  const again = async (name) => (await runFile(name, join(directory, `${name}-again`))).code;
  const asFiles = failed.map((each) => ({
    file: each.name,
    tests: each.failed.flatMap(({ tests }) => tests),
  }));
  return secondLook(asFiles, again, { times: 2 }); // each takes minutes
}
