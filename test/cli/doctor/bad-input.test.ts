// Common faults on a node. For each fault the built program prints one sentence that says what to change: mounts, capability,
// ports, an unreachable kubeconfig server, the clock. (Two hosts of one name: test/control/instance/host-name.test.ts.)
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dateCheck } from '../../../src/cli/doctor/machine-checks.ts';
import { Isthmus, mainScript } from '../../support/isthmus.ts';
import { makeNetns } from '../../support/network/netns.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-bad-'));
const clusters = join(directory, 'clusters');
const mount = join(directory, 'netns');
const FILES = ['--source', `file:${clusters}`, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
let netns: ReturnType<typeof makeNetns>;
let taken: Server;

beforeAll(async () => {
  for (const path of [clusters, mount]) mkdirSync(path);
  netns = makeNetns({ name: `qdhcp-${randomUUID()}` });
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
});
afterAll(() => {
  taken.close();
  netns.remove();
  rmSync(directory, { recursive: true, force: true });
});

interface Report {
  readonly result: string;
  readonly found: string;
  readonly fix: string | null;
}

/** `isthmus doctor` as in a container, after `before` runs in a new mount namespace. */
function asked(check: string, before: string, ...flags: readonly string[]): Promise<Report> {
  const script = `${before}; exec "$0" "$@"`;
  const args = ['--mount', 'sh', '-c', script, process.execPath, mainScript, 'doctor', '--json', ...flags];
  return new Promise((resolve, reject) => {
    const env = { ...process.env, container: 'test' };
    execFile('unshare', args, { env, timeout: 120_000 }, (_error, stdout, stderr) => {
      try {
        const { checks } = JSON.parse(stdout) as { checks: (Report & { check: string })[] };
        const found = checks.find((each) => each.check === check);
        if (found === undefined) throw new Error(`no check ${check}`);
        resolve(found);
      } catch (error) {
        reject(new Error(`${(error as Error).message}: ${stderr}`));
      }
    });
  });
}

describe('the doctor, in a container', () => {
  const AT = ['--netns-dir', mount];

  test('names the mount when the mount contains no namespaces', async () => {
    const report = await asked('netns', `mount --bind /run/netns ${mount}`, ...FILES, ...AT);
    expect(report).toMatchObject({ result: 'problem', fix: expect.stringContaining('HostToContainer') });
  });

  test('names the mount propagation when the mount does not receive later namespaces', async () => {
    const report = await asked('netns', `mount --rbind --make-rprivate /run/netns ${mount}`, ...FILES, ...AT);
    expect(report).toMatchObject({
      result: 'warning',
      found: expect.stringContaining('will not be seen here'),
      fix: expect.stringContaining('HostToContainer'),
    });
  });

  test('accepts the mount of the chart, which is read-only and follows the host', async () => {
    const chart =
      'mkdir -p /run/shared && mount --bind /run/shared /run/shared && mount --make-shared /run/shared && ' +
      `mkdir -p /run/shared/netns && mount --rbind /run/netns /run/shared/netns && mount --rbind /run/shared/netns ${mount} && ` +
      `mount --make-rslave ${mount} && mount -o remount,ro,bind ${mount}`;
    expect(await asked('netns', chart, ...FILES, ...AT)).toMatchObject({
      result: 'ok',
      found: expect.stringContaining('named ovnmeta-… or qdhcp-…'),
    });
  });

  test('names the mount when the directory is missing', async () => {
    const report = await asked('netns', ':', ...FILES, '--netns-dir', join(directory, 'none'));
    expect(report).toMatchObject({ result: 'problem', fix: expect.stringContaining('HostToContainer') });
  });

  test('names the server of the kubeconfig when the server is not reachable', async () => {
    const { port } = taken.address() as { port: number };
    const kubeconfig = join(directory, 'kubeconfig');
    const text = (server: string) =>
      JSON.stringify({
        clusters: [{ name: 'a', cluster: { server } }],
        users: [{ name: 'u', user: { token: 'secret-of-nobody' } }],
        contexts: [{ name: 'c', context: { cluster: 'a', user: 'u' } }],
        'current-context': 'c',
      });
    writeFileSync(kubeconfig, text('https://127.0.0.1:1'));
    const flags = ['--kubeconfig', kubeconfig, ...FILES.slice(2), '--advertise-address', '192.0.2.1'];
    const report = await asked('api', ':', ...flags);
    expect(report).toMatchObject({
      result: 'problem',
      found: expect.stringContaining('https://127.0.0.1:1'),
      fix: expect.stringContaining('correct the server in the kubeconfig'),
    });
    // This server accepts connections and never answers.
    writeFileSync(kubeconfig, text(`https://127.0.0.1:${port}`));
    expect(await asked('api', ':', ...flags)).toMatchObject({
      result: 'problem',
      fix: expect.stringContaining('wrong address'),
    });
  });
});

test('a busy port stops the start, and the error names the flag to change', async () => {
  const { port } = taken.address() as { port: number };
  for (const flag of ['listen', 'health-listen']) {
    const isthmus = new Isthmus();
    if (flag === 'listen') isthmus.listen = `127.0.0.1:${port}`;
    const flags = flag === 'health-listen' ? ['--health-listen', `127.0.0.1:${port}`] : [];
    await expect(isthmus.start(...flags)).rejects.toThrow(`stop it, or choose another --${flag}`);
    expect(await isthmus.ended()).toBe(1);
    await isthmus.stop();
  }
});

test('a clock in the past is reported as a separate problem', async () => {
  expect(await dateCheck(() => Date.UTC(1970, 0, 1, 3)).run()).toMatchObject({
    kind: 'problem',
    found: expect.stringContaining('1970-01-01T03:00Z'),
    fix: expect.stringContaining('Set the clock'),
  });
  expect(await dateCheck(Date.now).run()).toMatchObject({ kind: 'ok' });
});
