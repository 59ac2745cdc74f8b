// Commands beside an isthmus that is the first process of its container, as `kubectl exec` starts them: they see its variables by
// inheritance, and its flags (the chart's extraArgs) only in /proc.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Isthmus, mainScript } from '../support/isthmus.ts';

const isthmus = new Isthmus();
let first = '';

beforeAll(async () => {
  isthmus.within = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
  await isthmus.start('--max-pending-dials=64', '--health-listen', '127.0.0.1:0');
  first = readFileSync(`/proc/${isthmus.pid}/task/${isthmus.pid}/children`, 'utf8').trim();
});
afterAll(() => isthmus.stop());

async function exec(...args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const command = ['--target', first, '--pid', '--mount', process.execPath, mainScript, ...args];
  const environment = { ...process.env, ISTHMUS_ADMIN: '127.0.0.1:1' };
  try {
    const { stdout } = await promisify(execFile)('nsenter', command, { env: environment, timeout: 60_000 });
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, stdout };
  }
}

test('isthmus doctor checks with the flags of the first process, and names them', async () => {
  const { checks } = JSON.parse((await exec('doctor', '--json')).stdout) as {
    checks: { check: string; found: string }[];
  };
  const found = Object.fromEntries(checks.map((each) => [each.check, each.found]));
  expect(found.configuration).toMatch(/^every flag and variable can be read, also the flags of process 1 /);
  expect(found.configuration).toContain('ISTHMUS_MAX_PENDING_DIALS');
  // These three exist because the flags of the first process say so: --source file, --health-listen, --admin.
  expect(found.manifests).toContain(isthmus.directory);
  expect(found['health-listen']).toBe('Isthmus takes any free port');
  expect(found.admin).toBe('Isthmus takes any free port');
});

test('a flag of the command itself wins', async () => {
  const { stdout } = await exec('doctor', '--json', '--health-listen', '127.0.0.1:65000');
  expect(stdout).toContain('127.0.0.1:65000 is free');
  const admin = `127.0.0.1:${isthmus.adminPort}`;
  expect(await exec('status', '--admin', admin)).toMatchObject({ code: 0 });
});

test('outside of the container the command has its own settings only', async () => {
  const args = [mainScript, 'doctor', '--json', '--source', isthmus.source];
  const asked = promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  const { stdout } = await asked.catch((error: { stdout: string }) => error);
  expect(stdout).not.toContain('process 1');
});
