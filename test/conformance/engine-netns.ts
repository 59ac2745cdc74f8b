// The conformance suite that needs real network namespaces. Every engine passes it.
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { native } from '../../src/netns/native.ts';
import type { Decision, Engine, EngineLimits, Listener, Policy } from '../../src/proxy/engine.ts';
import { type Backend, backendKey } from '../../src/routing/route-table.ts';
import { longForm } from '../support/long-form.ts';
import { ip, makeNetns } from '../support/network/netns.ts';
import { NetnsServer } from '../support/network/netns-server.ts';
import { openDescriptors, threadNetns } from '../support/process.ts';
import { readAll, readBytes, tcpClient, until, WAIT_MS, within } from '../support/tcp.ts';
import { candidates, RecordingPolicy, TEST_LIMITS } from './engine.ts';

const ADDRESS = '10.0.0.5';
const PORT = 6443;

export function backendIn(path: string, address = ADDRESS, port = PORT): Backend {
  const netns = native.openNetns(path);
  const plain = { address, port, netns: { path, identity: netns.identity } };
  netns.close();
  return { ...plain, key: backendKey(plain) };
}

export function engineNetnsConformance(name: string, create: (limits: EngineLimits) => Engine): void {
  describe(`engine ${name} in network namespaces`, () => {
    let engine: Engine;
    const cleanups: (() => unknown)[] = [];

    beforeEach(() => {
      engine = create(TEST_LIMITS);
    });
    afterEach(async () => {
      await engine.close();
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    });

    const netnsWith = async (mode: string, ...args: string[]) => {
      const netns = makeNetns({ addresses: [`${ADDRESS}/32`, 'fd00::5/128'] });
      cleanups.push(() => ip('netns', 'delete', netns.name));
      const server = await NetnsServer.start(netns.name, mode, ADDRESS, String(PORT), ...args);
      cleanups.push(() => server.stop());
      return { netns, server };
    };
    const open = (policy: Policy): Promise<Listener> =>
      engine.openListener({ name: 'test', host: '127.0.0.1', port: 0, mode: 'hello', policy });
    const client = async (listener: Listener) => {
      const socket = await tcpClient(listener.port);
      cleanups.push(() => socket.destroy());
      return socket;
    };

    test('reaches the same address in two namespaces as two different servers', async () => {
      const one = await netnsWith('source', '10');
      const two = await netnsWith('source', '20');
      const [first, second] = [backendIn(one.netns.path), backendIn(two.netns.path)];
      const policy = new RecordingPolicy(({ bytes }) => candidates(bytes[0] === 0x31 ? first : second));
      const listener = await open(policy);
      for (let i = 0; i < 5; i += 1) {
        const [a, b] = [await client(listener), await client(listener)];
        a.write('1');
        b.write('2');
        expect((await readAll(a)).bytes.length).toBe(10);
        expect((await readAll(b)).bytes.length).toBe(20);
        a.end();
        b.end();
      }
      expect(threadNetns()).toHaveLength(1);
    });

    test('reaches an IPv6 address', async () => {
      const netns = makeNetns({ addresses: ['fd00::5/128'] });
      cleanups.push(() => netns.remove());
      const server = await NetnsServer.start(netns.name, 'echo', 'fd00::5', String(PORT));
      cleanups.push(() => server.stop());
      const listener = await open(new RecordingPolicy(() => candidates(backendIn(netns.path, 'fd00::5'))));
      const clientSocket = await client(listener);
      clientSocket.write('six');
      expect((await readBytes(clientSocket, 3)).toString()).toBe('six');
    });

    test('keeps a connection whose netns is deleted, fails new ones, and never mistakes a new netns for the old one', async () => {
      const old = await netnsWith('echo');
      const stale = backendIn(old.netns.path);
      const policy = new RecordingPolicy(() => candidates(stale));
      const listener = await open(policy);
      const live = await client(listener);
      live.write('hello');
      await readBytes(live, 5);

      ip('netns', 'delete', old.netns.name);
      engine.retainNetns([]);
      live.write('still here');
      expect((await readBytes(live, 10)).toString()).toBe('still here');
      const refused = await client(listener);
      refused.write('hello');
      expect((await readAll(refused)).bytes.toString()).toBe('sorry');
      expect(await policy.nextDialFailures(1)).toEqual(['ENOENT']);

      makeNetns({ name: old.netns.name, addresses: [`${ADDRESS}/32`] });
      const again = await NetnsServer.start(old.netns.name, 'source', ADDRESS, String(PORT), '3');
      cleanups.push(() => again.stop());
      const wrong = await client(listener);
      wrong.write('hello');
      expect((await readAll(wrong)).bytes.toString()).toBe('sorry');
      expect((await policy.nextDialFailures(2)).at(-1)).toBe('ENETNSCHANGED');

      const fresh = backendIn(old.netns.path);
      const right = await client(await open(new RecordingPolicy(() => candidates(fresh))));
      right.write('hello');
      expect((await readAll(right)).bytes.length).toBe(3);
    });

    test('holds handles only on the namespaces that are retained', async () => {
      const { netns } = await netnsWith('echo');
      const backend = backendIn(netns.path);
      const listener = await open(new RecordingPolicy(() => candidates(backend)));
      const clientSocket = await client(listener);
      clientSocket.write('hello');
      await readBytes(clientSocket, 5);
      expect(engine.stats().netnsHandles).toBe(1);
      engine.retainNetns([backend.netns as NonNullable<Backend['netns']>]);
      expect(engine.stats().netnsHandles).toBe(1);
      engine.retainNetns([]);
      expect(engine.stats().netnsHandles).toBe(0);
      clientSocket.write('hello');
      expect((await readBytes(clientSocket, 5)).toString()).toBe('hello');
    });

    describe('a backend that swallows packets', () => {
      /** SYNs go to a neighbour that does not exist. */
      const blackHole = (): Backend => {
        const netns = makeNetns();
        cleanups.push(() => netns.remove());
        ip('-n', netns.name, 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
        ip('-n', netns.name, 'address', 'add', '192.0.2.1/24', 'dev', 'v0');
        for (const link of ['v0', 'v1']) ip('-n', netns.name, 'link', 'set', link, 'up');
        ip('-n', netns.name, 'neighbour', 'add', '192.0.2.99', 'lladdr', '02:00:00:00:00:99', 'dev', 'v0');
        return backendIn(netns.path, '192.0.2.99');
      };
      const recreate = async (limits: Partial<EngineLimits>) => {
        await engine.close();
        engine = create({ ...TEST_LIMITS, ...limits });
      };

      test('costs the connect timeout, then the engine tries the next candidate', async () => {
        await recreate({ connectTimeoutMs: 1500 }); // the next candidate gets the same timeout
        const { netns } = await netnsWith('echo');
        const policy = new RecordingPolicy(() => candidates(blackHoleBackend, backendIn(netns.path)));
        const blackHoleBackend = blackHole();
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        expect((await readBytes(clientSocket, 5)).toString()).toBe('hello');
        expect(await policy.nextDialFailures(1)).toEqual(['ETIMEDOUT']);
      });

      test('takes no more than its share of the pending dials, and other backends are served', async () => {
        await recreate({ connectTimeoutMs: 60_000, maxPendingDials: 10, maxPendingDialsPerBackend: 3 });
        const { netns } = await netnsWith('echo');
        const [hole, good] = [blackHole(), backendIn(netns.path)];
        const policy = new RecordingPolicy(({ bytes }) => candidates(bytes[0] === 0x68 ? hole : good));
        const listener = await open(policy);
        for (let i = 0; i < 3; i += 1) (await client(listener)).write('hole');
        await until('three dials are pending', () => engine.stats().pendingDials === 3);
        const fourth = await client(listener);
        fourth.write('hole');
        expect((await readAll(fourth)).bytes.toString()).toBe('sorry');
        fourth.end();
        expect((await policy.nextReport()).outcome).toBe('refused-dials');
        const other = await client(listener);
        other.write('good');
        expect((await readBytes(other, 4)).toString()).toBe('good');
      });

      test('is passed over for the next candidate when its share of the pending dials is used up', async () => {
        await recreate({ connectTimeoutMs: 60_000, maxPendingDials: 10, maxPendingDialsPerBackend: 1 });
        const { netns } = await netnsWith('echo');
        const [hole, good] = [blackHole(), backendIn(netns.path)];
        const policy = new RecordingPolicy(({ bytes }) =>
          bytes[0] === 0x68 ? candidates(hole) : candidates(hole, good),
        );
        const listener = await open(policy);
        (await client(listener)).write('hole');
        await until('the dial is pending', () => engine.stats().pendingDials === 1);
        const lucky = await client(listener);
        lucky.write('good');
        expect((await readBytes(lucky, 4)).toString()).toBe('good');
      });

      test('leaves each other backend its reserve when it holds all pending dials', async () => {
        await recreate({ connectTimeoutMs: 60_000, maxPendingDials: 2, reservedDialsPerBackend: 1 });
        const { netns } = await netnsWith('echo');
        const [hole, good] = [blackHole(), backendIn(netns.path)];
        const policy = new RecordingPolicy(({ bytes }) => candidates(bytes[0] === 0x68 ? hole : good));
        const listener = await open(policy);
        for (let i = 0; i < 2; i += 1) (await client(listener)).write('hole');
        await until('two dials are pending', () => engine.stats().pendingDials === 2);
        const third = await client(listener);
        third.write('hole');
        expect((await readAll(third)).bytes.toString()).toBe('sorry');
        third.end();
        expect((await policy.nextReport()).outcome).toBe('refused-dials');
        const other = await client(listener);
        other.write('good');
        expect((await readBytes(other, 4)).toString()).toBe('good');
      });

      test('fails its waiting dials as soon as it is found down, and the engine tries the next candidate', async () => {
        await recreate({ connectTimeoutMs: 60_000 });
        const { netns } = await netnsWith('echo');
        const [hole, good] = [blackHole(), backendIn(netns.path)];
        const policy = new RecordingPolicy(({ bytes }) =>
          bytes[0] === 0x68 ? candidates(hole) : candidates(hole, good),
        );
        const listener = await open(policy);
        const [waiting, lucky] = [await client(listener), await client(listener)];
        waiting.write('hole');
        lucky.write('good');
        await until('two dials are pending', () => engine.stats().pendingDials === 2);
        engine.abortDials(['another', hole.key]);
        expect((await readBytes(lucky, 4)).toString()).toBe('good');
        expect((await readAll(waiting)).bytes.toString()).toBe('sorry');
        waiting.end();
        expect(await policy.nextReport()).toMatchObject({
          outcome: 'dial-failed',
          attempts: [{ error: 'EBACKENDDOWN' }],
        });
        expect(engine.stats().pendingDials).toBe(0);
      });

      test('does not delay the close of the engine', async () => {
        await recreate({ connectTimeoutMs: 60_000 });
        const policy = new RecordingPolicy(() => candidates(hole));
        const hole = blackHole();
        (await client(await open(policy))).write('hello');
        await until('the dial is pending', () => engine.stats().pendingDials === 1);
        expect(await within(30_000, 'the drain', engine.drain(50))).toEqual({ finished: 0, reset: 1 });
        expect(engine.stats()).toMatchObject({ connections: 0, pendingDials: 0 });
      });

      test('is no longer dialled after the client has left', async () => {
        await recreate({ connectTimeoutMs: 60_000 });
        const policy = new RecordingPolicy(() => candidates(hole));
        const hole = blackHole();
        const clientSocket = await client(await open(policy));
        clientSocket.write('hello');
        await until('the dial is pending', () => engine.stats().pendingDials === 1);
        clientSocket.resetAndDestroy();
        expect((await policy.nextReport()).outcome).toBe('client-left');
        expect(engine.stats()).toMatchObject({ connections: 0, pendingDials: 0 });
      });
    });

    test('ends a connection whose backend disappears without a FIN or a reset', async () => {
      await engine.close();
      engine = create({ ...TEST_LIMITS, deadPeerTimeoutMs: 1500 });
      const [here, there] = [makeNetns(), makeNetns()];
      cleanups.push(
        () => here.remove(),
        () => there.remove(),
      );
      ip('-n', here.name, 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1', 'netns', there.name);
      for (const [netns, link, address] of [
        [here, 'v0', '192.0.2.1/24'],
        [there, 'v1', '192.0.2.2/24'],
      ] as const) {
        ip('-n', netns.name, 'address', 'add', address, 'dev', link);
        ip('-n', netns.name, 'link', 'set', link, 'up');
      }
      const server = await NetnsServer.start(there.name, 'echo', '192.0.2.2', String(PORT));
      cleanups.push(() => server.stop());
      const policy = new RecordingPolicy(() => candidates(backendIn(here.path, '192.0.2.2')));
      const clientSocket = await client(await open(policy));
      clientSocket.write('hello');
      await readBytes(clientSocket, 5);
      ip('-n', there.name, 'address', 'delete', '192.0.2.2/24', 'dev', 'v1');
      clientSocket.write('anybody there?');
      const end = readAll(clientSocket);
      await until('it is given up', () => policy.reports.length === 1);
      expect(policy.reports[0]?.outcome).toBe('backend-timeout');
      expect((await end).reset).toBe(true);
    });

    test('passes on the reset of a backend that resets right after the hello', async () => {
      const { netns, server } = await netnsWith('hold');
      const policy = new RecordingPolicy(() => candidates(backendIn(netns.path)));
      const clientSocket = await client(await open(policy));
      clientSocket.write('hello');
      expect(await server.nextLine()).toBe('accepted');
      // An earlier reset can arrive before the engine notices the connect. That is a failed dial, which is also correct.
      expect(await server.nextLine()).toBe('got 5');
      const end = readAll(clientSocket);
      server.send('reset');
      expect((await end).reset).toBe(true);
      expect((await policy.nextReport()).outcome).toBe('backend-reset');
    });

    test('leaks no descriptor and leaves no thread in a foreign netns over thousands of connections of every kind', {
      timeout: 600_000,
    }, async () => {
      const { netns } = await netnsWith('echo');
      const good = backendIn(netns.path);
      const closed = { ...good, port: 1, key: 'closed port' };
      const answers: Record<string, Decision> = {
        g: candidates(good),
        f: candidates(closed, good),
        d: candidates(closed),
        a: { kind: 'alert', bytes: Buffer.from('alert'), note: null },
        c: { kind: 'close', note: null },
      };
      const policy = new RecordingPolicy(
        ({ bytes }) => answers[String.fromCharCode(bytes[0] as number)] as Decision,
      );
      const listener = await open(policy);
      await engine.openListener({ name: 'warm', host: '127.0.0.1', port: 0, mode: 'hello', policy });
      const kinds = 'ggggfdacgr'; // r: the client resets without waiting
      const one = async (i: number) => {
        const kind = kinds[i % kinds.length] as string;
        const clientSocket = await tcpClient(listener.port);
        clientSocket.write(kind === 'r' ? 'g' : kind);
        if (kind === 'r') clientSocket.resetAndDestroy();
        else {
          if (kind === 'g' || kind === 'f') await within(WAIT_MS, 'the echo', once(clientSocket, 'data'));
          clientSocket.end();
          await readAll(clientSocket);
        }
        clientSocket.destroy();
      };
      await Promise.all(Array.from({ length: 20 }, (_, i) => one(i)));
      await until('all ended', () => engine.stats().connections === 0);
      const before = openDescriptors();

      const total = longForm ? 10_000 : 2000;
      let next = 0;
      const worker = async () => {
        while (next < total) await one(next++);
      };
      await Promise.all(Array.from({ length: 40 }, worker));
      await until('all are reported', () => policy.reports.length >= total + 20);

      expect(policy.reports.length).toBe(total + 20);
      await until('their descriptors are closed', () => openDescriptors() <= before);
      expect(engine.stats()).toMatchObject({ connections: 0, pendingDials: 0, helloMemoryBytes: 0 });
      expect(threadNetns()).toHaveLength(1);
    });

    test('is not disturbed when a process in the netns dies', async () => {
      const { netns, server } = await netnsWith('echo');
      const policy = new RecordingPolicy(() => candidates(backendIn(netns.path)));
      const listener = await open(policy);
      const clientSocket = await client(listener);
      clientSocket.write('hello');
      await readBytes(clientSocket, 5);
      const end = once(clientSocket, 'close');
      clientSocket.on('end', () => clientSocket.end());
      clientSocket.resume();
      await server.stop(); // SIGKILL: the kernel closes its sockets
      await within(WAIT_MS, 'the end of the connection', end);
      const next = await client(listener);
      next.write('hello');
      expect((await readAll(next)).bytes.toString()).toBe('sorry');
      expect(await policy.nextDialFailures(1)).toEqual(['ECONNREFUSED']);
    });
  });
}
