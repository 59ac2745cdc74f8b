// The machine checks of `isthmus doctor`, with real namespaces, ports and a running isthmus.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { setnsCheck } from '../../../src/cli/doctor/machine-checks.ts';
import { netnsCheck } from '../../../src/cli/doctor/netns-check.ts';
import { native } from '../../../src/netns/native.ts';
import { Isthmus, mainScript, manifest } from '../../support/isthmus.ts';
import { makeNetns } from '../../support/network/netns.ts';
import { openDescriptors, threadNetns } from '../../support/process.ts';
import { traced } from '../../support/traced.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-doctor-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const removals: (() => void)[] = [];
afterEach(() => {
  for (const remove of removals.splice(0)) remove();
});

const loaded = { addon: native };
let counter = 0;
function emptyDirectory(): string {
  const path = join(directory, `d${++counter}`);
  mkdirSync(path);
  return path;
}

describe('setns', () => {
  test('is tried, and leaves no open descriptor and no thread in another netns', async () => {
    const before = [openDescriptors(), threadNetns()];
    expect(await setnsCheck(loaded).run()).toMatchObject({ kind: 'ok' });
    expect([openDescriptors(), threadNetns()]).toEqual(before);
  });

  test('is not tried without CAP_SYS_ADMIN', async () => {
    const status = join(directory, 'status');
    writeFileSync(status, 'CapEff:\t0000000000000400\n');
    expect(await setnsCheck(loaded, status).run()).toMatchObject({
      kind: 'problem',
      found: 'CAP_SYS_ADMIN is missing',
      fix: expect.stringContaining('SYS_ADMIN'),
    });
  });

  test('is reported as a problem, without a crash, if the capability is really missing', () => {
    const { status, stdout } = spawnSync(
      'setpriv',
      [
        '--bounding-set',
        '-sys_admin',
        process.execPath,
        mainScript,
        'doctor',
        '--source',
        `file:${directory}`,
      ],
      { encoding: 'utf8', timeout: 120_000 },
    );
    expect(stdout).toContain('problem  setns');
    expect(stdout).toContain('CAP_SYS_ADMIN is missing');
    expect(status).toBe(1);
  });
});

const ID = 'c0ffee00-0000-4000-8000-000000000001';

describe('the netns directory', () => {
  const check = (path: string, inContainer: boolean, mountinfo = '', addedPrefixes: readonly string[] = []) =>
    netnsCheck({ directory: path, addedPrefixes, loaded, inContainer, mountinfo }).run();
  const cutOff = (path: string) => `9 1 0:1 / ${path} rw - tmpfs t rw\n`;
  const followed = (path: string) => `9 1 0:1 / ${path} rw master:1 - tmpfs t rw\n`;

  test('that is missing is a problem in a container and a warning elsewhere', async () => {
    const path = join(directory, 'none');
    expect(await check(path, true)).toMatchObject({
      kind: 'problem',
      fix: expect.stringContaining('HostToContainer'),
    });
    expect(await check(path, false)).toMatchObject({ kind: 'warning' });
  });

  test('that is not a directory is a problem', async () => {
    const path = join(directory, 'file');
    writeFileSync(path, '');
    expect(await check(path, false)).toMatchObject({
      kind: 'problem',
      fix: expect.stringContaining('--netns-dir'),
    });
  });

  test('that is empty is a warning, and a problem if no namespace can ever appear in it', async () => {
    const path = emptyDirectory();
    expect(await check(path, false)).toMatchObject({ kind: 'warning' });
    expect(await check(path, true, followed(path))).toMatchObject({
      kind: 'warning',
      fix: expect.stringContaining('HostToContainer'),
    });
    expect(await check(path, true, cutOff(path))).toMatchObject({ kind: 'problem' });
  });

  test('with namespaces of tenants passes and shows their number', async () => {
    // Uses links, because other tests use /run/netns at the same time.
    const path = emptyDirectory();
    for (const name of [`qdhcp-${ID}`, `ovnmeta-${ID}`, `tenant-${ID}`, `qrouter-${ID}`, 'qdhcp-1', 'mgmt']) {
      const netns = makeNetns();
      removals.push(netns.remove);
      symlinkSync(netns.path, join(path, name));
    }
    expect(await check(path, false)).toEqual({
      kind: 'ok',
      found: `6 network namespaces in ${path}, 2 of them named ovnmeta-… or qdhcp-…`,
    });
    expect(await check(path, false, '', ['tenant-'])).toEqual({
      kind: 'ok',
      found: `6 network namespaces in ${path}, 3 of them named ovnmeta-… or qdhcp-… or tenant-…`,
    });
    expect(await check(path, true, cutOff(path))).toMatchObject({
      kind: 'warning',
      found: expect.stringContaining('will not be seen here'),
    });
  });

  test('with leftover files names one of them', async () => {
    const path = emptyDirectory();
    writeFileSync(join(path, 'qdhcp-dead'), '');
    expect(await check(path, true)).toMatchObject({
      kind: 'problem',
      found: expect.stringContaining('qdhcp-dead is a plain file'),
    });
  });
});

interface Report {
  readonly code: number | null;
  readonly checks: Readonly<Record<string, { result: string; found: string; fix: string | null }>>;
}

function doctor(...flags: string[]): Promise<Report> {
  return new Promise((resolve, reject) => {
    const [command, ...args] = traced(process.execPath, mainScript, 'doctor', '--json', ...flags);
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const { checks } = JSON.parse(text) as { checks: (Report['checks'][string] & { check: string })[] };
      resolve({ code, checks: Object.fromEntries(checks.map(({ check, ...rest }) => [check, rest])) });
    });
  });
}

describe('ports and manifests', () => {
  test('a port of another program is a problem that names the flag', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const { code, checks } = await doctor(
      '--source',
      `file:${emptyDirectory()}`,
      '--listen',
      `127.0.0.1:${port}`,
      '--admin',
      '192.0.2.77:9580',
    );
    server.close();
    expect(code).toBe(1);
    expect(checks.listen).toMatchObject({
      result: 'problem',
      found: `127.0.0.1:${port} is taken by another program`,
      fix: expect.stringContaining('--listen'),
    });
    expect(checks.admin).toMatchObject({
      result: 'problem',
      found: expect.stringContaining('does not have'),
    });
  });

  test('ports of the running isthmus pass', async () => {
    const isthmus = new Isthmus();
    await isthmus.start();
    const { checks } = await doctor(
      '--source',
      isthmus.source,
      '--listen',
      `127.0.0.1:${isthmus.port}`,
      '--admin',
      `127.0.0.1:${isthmus.adminPort}`,
      '--health-listen',
      '0',
    );
    await isthmus.stop();
    for (const name of ['listen', 'admin'])
      expect(checks[name]).toMatchObject({
        result: 'ok',
        found: expect.stringContaining('taken by the isthmus that runs here'),
      });
  });

  test('manifests are counted, and invalid manifests are named', async () => {
    const path = emptyDirectory();
    const source = ['--source', `file:${path}`, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    writeFileSync(join(path, 'a.yaml'), manifest({ name: 'alpha', networkId: ID, address: '10.0.0.5' }));
    expect((await doctor(...source)).checks.manifests).toEqual({
      result: 'ok',
      found: `1 OpenStackClusters in ${path}, 1 of them proxied`,
      fix: null,
    });
    const listener = (port: number) =>
      `apiVersion: isthmus.dev/v1alpha1\nkind: AdditionalListener\nmetadata: { name: ssh }\nspec: { clusterName: alpha, port: ${port} }\n`;
    writeFileSync(join(path, 'ssh.yaml'), listener(22));
    expect((await doctor(...source)).checks.manifests).toMatchObject({
      result: 'ok',
      found: expect.stringContaining('; 1 AdditionalListeners and 0 Machines'),
    });
    writeFileSync(join(path, 'ssh.yaml'), listener(6443));
    expect((await doctor(...source)).checks.manifests).toMatchObject({
      result: 'problem',
      found: expect.stringContaining('ssh.yaml: spec.port is the number 6443'),
    });
    writeFileSync(join(path, 'b.yaml'), '{{{');
    expect((await doctor(...source)).checks.manifests).toMatchObject({
      result: 'problem',
      found: expect.stringContaining('b.yaml'),
    });
  });
});
