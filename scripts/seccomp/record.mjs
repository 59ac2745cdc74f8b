// `npm run seccomp`: runs the tests of the built program under strace and writes deploy/seccomp/isthmus.json from the recorded calls.
// It takes minutes, because strace stops the program twice per call.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureProgram } from '../fetch/debian.mjs';
import { root } from '../setup/setup.mjs';
import { allowedNames, namesIn, profileFor } from './profile.mjs';

export const profileFile = join(root, 'deploy', 'seccomp', 'isthmus.json');
/** Tests that start the built program: connections on both engines, publishing, listeners, handover and the doctor. */
const RUNS = [
  { tests: ['test/proxy'] },
  { tests: ['test/proxy/life', 'test/proxy/clients'], env: { ISTHMUS_ENGINE: 'streams' } },
  { tests: ['test/control/apply', 'test/control/instance', 'test/control/rights'] },
  { tests: ['test/control/sources/listener-files', 'test/cli/doctor'] },
  { tests: ['test/systemd'] },
];

function recorded(directory) {
  const files = readdirSync(directory);
  const names = new Set(files.flatMap((file) => namesIn(readFileSync(join(directory, file), 'utf8'))));
  return { runs: files.length, names: [...names].sort() };
}

/** `runTests(files, env)` runs test files in the sandbox and resolves with the exit code. */
export async function record(runTests) {
  const directory = join(root, '.cache', 'seccomp');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const env = {
    ISTHMUS_TEST_STRACE: await ensureProgram('strace'),
    ISTHMUS_TEST_STRACE_DIRECTORY: directory,
  };
  const codes = [];
  for (const { tests, env: own } of RUNS) codes.push(await runTests(tests, { ...env, ...own }));
  const { runs, names } = recorded(directory);
  // Under strace, a test can miss its own deadline. Its recorded calls are still valid.
  if (codes.some((code) => code !== 0))
    process.stderr.write('! some of the traced runs failed; their calls still count\n');
  if (runs < 20 || names.length < 40)
    throw new Error(`${runs} runs and ${names.length} calls were recorded: too few to be all`);
  const before = known();
  const profile = profileFor(names);
  writeFileSync(profileFile, `${JSON.stringify(profile, null, 2)}\n`);
  const after = new Set(allowedNames(names));
  const difference = [
    ...[...after].filter((name) => !before.has(name)).map((name) => `+${name}`),
    ...[...before].filter((name) => !after.has(name)).map((name) => `-${name}`),
  ];
  process.stdout.write(`${runs} runs called ${names.length} different system calls: ${names.join(' ')}\n`);
  process.stdout.write(
    `${profileFile} allows ${after.size} of them and equivalent calls; ${difference.join(' ') || 'as before'}\n`,
  );
  const unseen = [...after].filter((name) => !names.includes(name));
  process.stdout.write(`allowed, though no run called them: ${unseen.join(' ')}\n`);
  return 0;
}

function known() {
  try {
    const { syscalls } = JSON.parse(readFileSync(profileFile, 'utf8'));
    return new Set(
      syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names),
    );
  } catch {
    return new Set(); // no profile exists yet
  }
}
