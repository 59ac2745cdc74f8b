// The image's root filesystem with exactly the settings of the DaemonSet, on the node's network and on a Pod network, with real TLS
// traffic into tenants' networks.
import { once } from 'node:events';
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PublishSite } from '../support/kubernetes/publish-site.ts';
import { WAIT_MS, within } from '../support/tcp.ts';
import type { TestCluster } from '../support/two-clusters.ts';
import { type Runtime, rootfs } from './container.ts';
import { dropNetnsMount } from './node-setup.ts';
import { Pod } from './pod.ts';
import { type Family, nodeAddress } from './pod-network.ts';
import { podSettings } from './pod-settings.ts';
import { ourProfile } from './seccomp-profile.ts';

const PODS: readonly [runtime: Runtime, place: string, network: Family | null][] = [
  ['runc', 'the network of its node', null],
  ['crun', 'the network of its node', null],
  ['runc', 'an IPv4 network of its own', 4],
  ['crun', 'an IPv6 network of its own', 6],
];

/** Every file below the directory, with the attributes that a write would change. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => {
      const { ino, size, mtimeMs, mode } = lstatSync(path);
      return [path, ino, size, mtimeMs, mode].join(' ');
    })
    .sort();
}

describe.each(PODS)('a Pod started by %s on %s', (runtime, _place, network) => {
  let site: PublishSite;
  let pod: Pod;
  let files: string[];

  beforeAll(async () => {
    dropNetnsMount();
    const host = network === null ? '127.0.0.1' : nodeAddress(network);
    site = await PublishSite.start({ withoutNetns: true, host });
    pod = new Pod(site.management, { node: 'net-1', runtime, network, seccomp: ourProfile() });
    await pod.start();
    files = filesBelow(rootfs);
  });
  afterAll(async () => {
    await pod.remove();
    await site.stop();
  });

  test('has exactly the privileges of the DaemonSet', async () => {
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

  test('sees network namespaces that are created after its start, including the first one, and serves the clusters in them', async () => {
    await site.clusters.start();
    const { alpha, beta } = site.clusters;
    site.add(alpha, beta);
    await site.published('alpha-net-1', 'beta-net-1');
    for (const cluster of [alpha, beta]) expect(await site.ask(pod.isthmus, cluster)).toContain(cluster.name);
  });

  test('publishes the address that kubelet gave it', () => {
    expect(site.slice('alpha-net-1')).toMatchObject({
      addressType: `IPv${network ?? 4}`,
      endpoints: [{ addresses: [pod.address], nodeName: 'net-1' }],
      ports: [{ port: 16443 }],
    });
  });

  test('has every thread in its own netns after it entered the networks of tenants', async () => {
    const pid = await pod.container.pid();
    const home =
      pod.network === null ? readlinkSync('/proc/self/ns/net') : `net:[${statSync(pod.network.path).ino}]`;
    const threads = readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}/ns/net`);
    expect(threads.length).toBeGreaterThan(4);
    expect(new Set(threads.map((each) => readlinkSync(each)))).toEqual(new Set([home]));
  });

  test.runIf(network !== null)('has its ports in its own network, and none on the node', async () => {
    const ports = [pod.isthmus.port, ...pod.settings.probes.map(({ port }) => port)];
    for (const host of ['127.0.0.1', site.management.host])
      for (const port of ports) {
        const [error] = await once(createConnection({ host, port }), 'error');
        expect(error).toMatchObject({ code: 'ECONNREFUSED' });
      }
  });

  test('answers the probes of kubelet', async () => {
    const { probes } = pod.settings;
    expect(probes.map(({ path }) => path)).toEqual(['/livez', '/livez', '/readyz']); // startup, liveness, readiness
    for (const { path, port } of probes) expect(await pod.probe(path, port), path).toBe(200);
  });

  test('runs its own commands without a shell', async () => {
    const isthmus = (...args: string[]) => pod.container.exec('/usr/local/bin/isthmus', ...args);
    expect(await isthmus('version')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^isthmus \d/) });
    const status = await isthmus('status', '--admin', `127.0.0.1:${pod.isthmus.adminPort}`);
    expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('alpha') });
  });

  test('drains on SIGTERM: it serves an open connection until it ends, and then exits', async () => {
    const socket = await openTls(pod, site.clusters.alpha);
    pod.isthmus.signal('SIGTERM');
    await within(
      WAIT_MS,
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
    expect(await pod.isthmus.ended()).toBe(0);
    expect(site.management.slices()).toEqual([]);
  });

  test('writes nothing to its root filesystem', () => {
    expect(filesBelow(rootfs)).toEqual(files);
  });
});

function openTls(pod: Pod, cluster: TestCluster): Promise<TLSSocket> {
  const servername = `${cluster.name}.magnum-system`;
  return within(
    WAIT_MS,
    'a TLS handshake',
    new Promise((resolve, reject) => {
      const { host, port } = pod.isthmus;
      const options = { host, port, servername, ca: cluster.certificate.cert };
      const socket = connect(options, () => resolve(socket)).on('error', reject);
    }),
  );
}

function request(socket: TLSSocket, host: string): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return within(
    WAIT_MS,
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
