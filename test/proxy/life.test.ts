// A running proxy: clusters are added, fail, move and are removed; its flags take effect; it stops on a signal.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clientHello } from '../support/client-hello.ts';
import { Isthmus, manifest } from '../support/isthmus.ts';
import { ip, makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { connectError, readAll, readBytes, tcpClient, until } from '../support/tcp.ts';
import { ADDRESS, TwoClusters } from '../support/two-clusters.ts';

const ALERT = (description: number) => Buffer.from([0x15, 3, 1, 0, 2, 2, description]);
const UNRECOGNIZED_NAME = 112;
const INTERNAL_ERROR = 80;

const clusters = new TwoClusters();
let isthmus: Isthmus;

beforeAll(() => clusters.start());
afterAll(() => clusters.stop());
beforeEach(() => {
  isthmus = new Isthmus();
  isthmus.writeManifest('alpha.yaml', clusters.alpha.manifest);
});
afterEach(() => isthmus.stop());

/** The first bytes that a client gets after a hello with this name: the alert, or the start of a ServerHello. */
async function firstBytes(serverName: string): Promise<Buffer> {
  const socket = await tcpClient(isthmus.port);
  socket.write(await clientHello(serverName));
  const bytes = await readBytes(socket, 7);
  socket.destroy();
  return bytes;
}

const isServed = async (serverName: string) => (await firstBytes(serverName))[0] === 0x16;

describe('clusters', () => {
  test('are added and removed with their manifests, without a restart', async () => {
    await isthmus.start();
    expect(await firstBytes('beta.magnum-system')).toEqual(ALERT(UNRECOGNIZED_NAME));
    isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
    await isthmus.untilState('beta', 'serving');
    expect(await isServed('beta.magnum-system')).toBe(true);
    rmSync(join(isthmus.directory, 'beta.yaml'));
    await until('beta is gone', () =>
      isthmus.log.some((line) => line.msg === 'cluster gone' && line.cluster === 'beta'),
    );
    expect(await firstBytes('beta.magnum-system')).toEqual(ALERT(UNRECOGNIZED_NAME));
    expect(await isServed('alpha.magnum-system')).toBe(true);
  });

  test('are not disturbed by a broken file, which log and status name', async () => {
    await isthmus.start();
    isthmus.writeManifest('broken.yaml', 'kind: OpenStackCluster\n  indented: wrong\n');
    await until('the log names it', () =>
      isthmus.log.some((line) => String(line.origin).includes('broken.yaml')),
    );
    const status = await isthmus.status();
    expect(status.problems.map(({ origin }) => origin)).toEqual([expect.stringContaining('broken.yaml')]);
    expect(await isServed('alpha.magnum-system')).toBe(true);
    isthmus.writeManifest('alpha.yaml', 'not: [valid');
    await until('the log names alpha.yaml', () =>
      isthmus.log.some((line) => String(line.origin).includes('alpha.yaml')),
    );
    expect(await isServed('alpha.magnum-system')).toBe(true); // the last valid content stays in effect
  });

  test('whose backend dies get internal_error until it is back', async () => {
    await isthmus.start('--health-interval', '200ms');
    await clusters.servers.get('alpha')?.stop();
    const down = await isthmus.untilState('alpha', 'unhealthy');
    expect(down.reason).not.toBe('');
    // The control thread provides the probe results, and it may be late.
    await expect
      .poll(async () => (await isthmus.untilState('alpha', 'unhealthy')).lastProbe)
      .toMatchObject({ ok: false, error: 'ECONNREFUSED' });
    expect(await firstBytes('alpha.magnum-system')).toEqual(ALERT(INTERNAL_ERROR));
    expect(await isthmus.record((line) => line.reason === 'no-healthy-backend')).toMatchObject({
      level: 'warn',
      cluster: 'alpha',
      outcome: 'alert-sent',
    });
    await clusters.serve(clusters.alpha);
    await isthmus.untilState('alpha', 'serving');
    expect(await isServed('alpha.magnum-system')).toBe(true);
  });

  test('whose backend dies between two checks are down after the first client, which gets an alert', async () => {
    await isthmus.start('--health-interval', '1h');
    await clusters.servers.get('alpha')?.stop();
    expect(await firstBytes('alpha.magnum-system')).toEqual(ALERT(INTERNAL_ERROR));
    expect(await isthmus.record((line) => line.outcome === 'dial-failed')).toMatchObject({
      reason: 'ECONNREFUSED',
      failedDials: [`${ADDRESS}:6443: ECONNREFUSED`],
    });
    await isthmus.untilState('alpha', 'unhealthy'); // long before the interval is over
    await clusters.serve(clusters.alpha);
  });

  test('whose netns is recreated under the same name are served from the new netns', async () => {
    await isthmus.start();
    await clusters.servers.get('alpha')?.stop();
    ip('netns', 'delete', clusters.alpha.netns);
    makeNetns({ name: clusters.alpha.netns, addresses: [`${ADDRESS}/32`] });
    await clusters.serve(clusters.alpha);
    const states = () => isthmus.log.filter((line) => line.cluster === 'alpha' && line.state !== undefined);
    const lost = () => states().findIndex((line) => line.was === 'serving');
    await until('the old one was lost', () => lost() >= 0);
    await until(
      'the new one is served',
      () => states().at(-1)?.state === 'serving' && states().length > lost() + 1,
    );
    expect(await isServed('alpha.magnum-system')).toBe(true);
  });

  test('without netns, with invalid facts or not proxied each have a state and a reason, and serve no client', async () => {
    isthmus.writeManifest(
      'lost.yaml',
      manifest({ name: 'lost', networkId: '5e6f0000-0000-4000-8000-00000000aaaa', address: ADDRESS }),
    );
    isthmus.writeManifest(
      'public.yaml',
      clusters.beta.manifest.replace('FloatingIP: true', 'FloatingIP: false'),
    );
    isthmus.writeManifest(
      'bad.yaml',
      manifest({ name: 'bad', networkId: '5e6f0000-0000-4000-8000-00000000bbbb', address: '10.0.0.500' }),
    );
    isthmus.writeManifest(
      'young.yaml',
      manifest({ name: 'young', networkId: 'x', address: ADDRESS }).replace(/status:[\s\S]*/, ''),
    );
    await isthmus.start();
    const states = Object.fromEntries(
      (await isthmus.status()).clusters.map(({ name, state }) => [name, state]),
    );
    expect(states).toEqual({
      alpha: 'serving',
      bad: 'invalid',
      beta: 'not-proxied',
      lost: 'no-netns',
      young: 'pending',
    });
    for (const { state, reason } of (await isthmus.status()).clusters) {
      expect(`${state}: ${reason}`.length).toBeGreaterThan(20);
    }
    for (const name of ['lost', 'young']) {
      expect([name, await firstBytes(`${name}.magnum-system`)]).toEqual([name, ALERT(INTERNAL_ERROR)]);
    }
    expect(await firstBytes('beta.magnum-system')).toEqual(ALERT(UNRECOGNIZED_NAME));
  });
});

describe('configuration', () => {
  test('--proxy-always proxies clusters with a floating IP too', async () => {
    isthmus.writeManifest(
      'beta.yaml',
      clusters.beta.manifest.replace('FloatingIP: true', 'FloatingIP: false'),
    );
    await isthmus.start('--proxy-always');
    expect(await isServed('beta.magnum-system')).toBe(true);
  });

  test('--default-cluster serves clients that send no server name', async () => {
    await isthmus.start('--default-cluster', 'alpha');
    const socket = await tcpClient(isthmus.port);
    socket.write(await clientHello(null));
    expect((await readBytes(socket, 1))[0]).toBe(0x16);
    socket.destroy();
    expect(await isthmus.record((line) => line.cluster === 'alpha')).toMatchObject({ serverName: null });
  });

  test('--health tls treats a backend that accepts but speaks no TLS as dead', async () => {
    isthmus.writeManifest(
      'mute.yaml',
      clusters.alpha.manifest.replaceAll('alpha', 'mute').replace('6443', '7000'),
    );
    const mute = await NetnsServer.start(clusters.alpha.netns, 'hold', ADDRESS, '7000');
    try {
      await isthmus.start('--health', 'tls');
      await expect
        .poll(async () => (await isthmus.untilState('mute', 'unhealthy')).lastProbe?.ok)
        .toBe(false);
      await isthmus.untilState('alpha', 'serving');
    } finally {
      await mute.stop();
    }
  });

  test('--trust-proxy-protocol logs the address that a trusted balancer names, and strips its header', async () => {
    await isthmus.start('--trust-proxy-protocol', '127.0.0.0/8');
    const v2 = Buffer.concat([
      Buffer.from('0d0a0d0a000d0a515549540a2111000c', 'hex'),
      Buffer.from([203, 0, 113, 7, 203, 0, 113, 1, 0x10, 0x92, 0x19, 0x2b]),
    ]);
    for (const [header, address] of [
      [Buffer.from('PROXY TCP4 198.51.100.7 198.51.100.1 4242 6443\r\n'), '198.51.100.7:4242'],
      [v2, '203.0.113.7:4242'],
    ] as const) {
      const socket = await tcpClient(isthmus.port);
      socket.write(Buffer.concat([header, await clientHello('alpha.magnum-system')]));
      expect((await readBytes(socket, 1))[0]).toBe(0x16); // a ServerHello: the backend got no header
      const via = `127.0.0.1:${socket.localPort}`;
      socket.destroy();
      expect(await isthmus.record((line) => line.client === address)).toMatchObject({
        via,
        cluster: 'alpha',
      });
    }
  });

  test('--max-connections-per-cluster rejects the connection over the limit, and the other cluster is not affected', async () => {
    isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
    await isthmus.start('--max-connections-per-cluster', '1');
    await isthmus.untilState('beta', 'serving');
    const first = await tcpClient(isthmus.port);
    first.write(await clientHello('alpha.magnum-system'));
    await readBytes(first, 1);
    expect(await firstBytes('alpha.magnum-system')).toEqual(ALERT(INTERNAL_ERROR));
    expect(await isthmus.record((line) => line.reason === 'cluster-connections')).toMatchObject({
      level: 'warn',
    });
    expect(await isServed('beta.magnum-system')).toBe(true);
    first.destroy();
    await isthmus.record((line) => line.cluster === 'alpha' && line.backend !== null);
    expect(await isServed('alpha.magnum-system')).toBe(true);
  });

  test('--health-listen answers health and metrics and nothing else', async () => {
    await isthmus.start('--health-listen', '127.0.0.1:19581');
    const answer = async (path: string) => (await fetch(`http://127.0.0.1:19581${path}`)).status;
    await expect.poll(() => answer('/readyz')).toBe(200);
    expect([await answer('/livez'), await answer('/metrics')]).toEqual([200, 200]);
    expect([await answer('/status'), await answer('/')]).toEqual([404, 404]);
  });

  test('PROXY_PORT and PROXY_BIND of magnum-cluster-api-proxy are honoured', async () => {
    isthmus.listen = null;
    Object.assign(isthmus.environment, { PROXY_PORT: '16443', PROXY_BIND: '127.0.0.2' });
    await isthmus.start();
    expect((await isthmus.status()).listen).toBe('127.0.0.2:16443');
  });
});

describe('stopping', () => {
  test('on SIGTERM turns not ready, accepts no new connection, keeps open ones, and then exits 0', async () => {
    await isthmus.start('--drain-timeout', '10m');
    const open = await tcpClient(isthmus.port);
    open.write(await clientHello('alpha.magnum-system'));
    await readBytes(open, 1);
    isthmus.signal('SIGTERM');
    await until('it drains', () => isthmus.log.some((line) => line.msg.startsWith('stopping')));
    // It logs the drain first. A client that connects just before the port closes is still accepted.
    await until('the port is closed', async () => (await connectError(isthmus.port)) !== null);
    expect(await connectError(isthmus.port)).toContain('ECONNREFUSED');
    expect(await isthmus.get('/readyz')).toEqual({ status: 503, body: 'not ready: draining\n' });
    expect((await isthmus.get('/livez')).status).toBe(200);
    open.end();
    open.resume();
    expect(await isthmus.ended()).toBe(0);
    const finished = isthmus.log.find((line) => line.msg === 'all connections finished');
    expect(finished).toMatchObject({ reset: 0 });
    expect(finished?.finished).toBeGreaterThanOrEqual(1);
  });

  test('after the drain timeout resets the remaining connections and exits 0', async () => {
    await isthmus.start('--drain-timeout', '300ms');
    const open = await tcpClient(isthmus.port);
    open.write(await clientHello('alpha.magnum-system'));
    await readBytes(open, 1);
    const end = readAll(open);
    isthmus.signal('SIGINT');
    expect((await end).reset).toBe(true);
    expect(await isthmus.ended()).toBe(0);
    expect(isthmus.log.filter((line) => line.outcome === 'drain-expired')).toHaveLength(1);
  });

  test('on a second signal ends at once', async () => {
    await isthmus.start('--drain-timeout', '1h');
    const open = await tcpClient(isthmus.port);
    open.write(await clientHello('alpha.magnum-system'));
    await readBytes(open, 1);
    isthmus.signal('SIGTERM');
    await until('it drains', () => isthmus.log.some((line) => line.msg.startsWith('stopping')));
    isthmus.signal('SIGTERM');
    expect(await isthmus.ended()).toBe(143);
  });
});
