// A step of the set-up ends with the process that waits for it: no compiler continues after Ctrl-C.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isAlive } from '../support/process.ts';
import { until, WAIT_MS, within } from '../support/tcp.ts';

const script = fileURLToPath(new URL('../../scripts/setup/step.mjs', import.meta.url));
// The step prints its process id, and `progress` receives it.
const WRAPPER = `
import { runStep } from ${JSON.stringify(script)};
const progress = (said) => { console.log(said.trim()); return ''; };
await runStep('waiting', 'sh', ['-c', 'echo $$; exec sleep 1000'], { progress });
`;

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends the step and its parent with the right exit code', async (signal, code) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', WRAPPER], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = await within(
    WAIT_MS,
    'its first line',
    once(createInterface({ input: child.stdout }), 'line'),
  );
  const pid = Number(line);
  expect(isAlive(pid)).toBe(true);
  child.kill(signal);
  const [exitCode] = await within(WAIT_MS, 'its end', once(child, 'exit'));
  expect(exitCode).toBe(code);
  await until('the step has ended', () => !isAlive(pid));
});
