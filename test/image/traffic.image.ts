// The image's own root filesystem with exactly what the DaemonSet gives it, and real TLS through it into tenants' networks.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PublishSite } from '../support/publish-site.ts';
import { within } from '../support/tcp.ts';
import type { TestCluster } from '../support/two-clusters.ts';
import { type Runtime, rootfs } from './container.ts';
import { Pod } from './pod.ts';
import { podSettings } from './pod-settings.ts';
import { ourProfile } from './seccomp-profile.ts';

const RUNTIMES: readonly Runtime[] = ['runc', 'crun'];

/** Every file below, with what a write would change. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => {
      const { ino, size, mtimeMs, mode } = lstatSync(path);
      return [path, ino, size, mtimeMs, mode].join(' ');
    })
    .sort();
}

describe.each(RUNTIMES)('a Pod started by %s', (runtime) => {
  let site: PublishSite;
  let pod: Pod;
  let files: string[];

  beforeAll(async () => {
    site = await PublishSite.start({ withoutNetns: true });
    pod = new Pod(site.management, { node: 'net-1', runtime, seccomp: ourProfile() });
    await pod.start();
    files = filesBelow(rootfs);
  });
  afterAll(async () => {
    await pod.remove();
    await site.stop();
  });

  it('has the privileges of the DaemonSet and no other', async () => {
    const pid = await pod.container.pid();
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const fact = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];
    const SYS_ADMIN = (1n << 21n).toString(16).padStart(16, '0');
    const none = '0'.repeat(16);
    expect(podSettings().capabilities).toEqual(['SYS_ADMIN']);
    expect(
      Object.fromEntries(
        ['CapBnd', 'CapPrm', 'CapEff', 'CapInh', 'CapAmb', 'NoNewPrivs', 'Seccomp', 'Uid'].map((name) => [
          name,
          fact(name),
        ]),
      ),
    ).toEqual({
      CapBnd: SYS_ADMIN,
      CapPrm: SYS_ADMIN,
      CapEff: SYS_ADMIN,
      CapInh: none,
      CapAmb: none,
      NoNewPrivs: '1',
      Seccomp: '2',
      Uid: '0\t0\t0\t0',
    });
    const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n');
    const options = (path: string) => mounts.find((line) => line.split(' ')[4] === path)?.split(' ')[5];
    expect(options('/')).toMatch(/^ro,|^ro$/);
    expect(options('/run/netns')).toMatch(/^ro,|^ro$/);
  });

  it('sees network namespaces that are made after its start, the first of all too, and serves what is in them', async () => {
    await site.clusters.start();
    const { alpha, beta } = site.clusters;
    site.add(alpha, beta);
    await site.published('alpha-net-1', 'beta-net-1');
    for (const cluster of [alpha, beta]) expect(await site.ask(pod.isthmus, cluster)).toContain(cluster.name);
  });

  it('answers where kubelet asks', async () => {
    const { probes } = podSettings();
    expect(probes.map(({ path }) => path)).toEqual(['/livez', '/readyz']);
    for (const { path, port } of probes)
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status, path).toBe(200);
  });

  it('answers its own commands without a shell', async () => {
    const isthmus = (...args: string[]) => pod.container.exec('/usr/local/bin/isthmus', ...args);
    expect(await isthmus('version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^isthmus \d/) });
    const status = await isthmus('status', '--admin', `127.0.0.1:${pod.isthmus.adminPort}`);
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('alpha') });
  });

  it('drains on SIGTERM: an open connection is served to its end, then it is gone', async () => {
    const socket = await openTls(pod, site.clusters.alpha);
    pod.isthmus.signal('SIGTERM');
    await within(
      20_000,
      'draining',
      new Promise<void>((resolve) => {
        const timer = setInterval(() => {
          if (pod.isthmus.log.some(({ msg }) => msg.startsWith('stopping'))) {
            clearInterval(timer);
            resolve();
          }
        }, 20);
      }),
    );
    expect(await request(socket, 'alpha.magnum-system')).toMatch(/^HTTP\/1\.1 200/);
    socket.end();
    expect(await pod.isthmus.ended(30_000)).toBe(0);
    expect(site.management.slices()).toEqual([]);
  });

  it('has written nothing to its root', () => {
    expect(filesBelow(rootfs)).toEqual(files);
  });
});

function openTls(pod: Pod, cluster: TestCluster): Promise<TLSSocket> {
  const servername = `${cluster.name}.magnum-system`;
  return within(
    10_000,
    'a TLS handshake',
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: pod.isthmus.port, servername, ca: cluster.certificate.cert };
      const socket = connect(options, () => resolve(socket)).on('error', reject);
    }),
  );
}

function request(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return within(
    10_000,
    'an answer',
    new Promise((resolve, reject) => {
      let text = '';
      socket.setEncoding('utf8').on('error', reject);
      socket.on('data', (chunk: string) => {
        text += chunk;
      });
      socket.on('end', () => resolve(text));
    }),
  );
}
