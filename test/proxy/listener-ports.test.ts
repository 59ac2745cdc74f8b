// Ports of additional listeners in the complete main thread: real sockets, both engines, and a stand-in for the control thread.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ListenerStatus } from '../../src/control/desired/listener-status.ts';
import { backendKey, type PortRoute, type Route, routeTable } from '../../src/routing/route-table.ts';
import { clientHello } from '../support/client-hello.ts';
import { StandInControl } from '../support/stand-in-control.ts';
import {
  connectError,
  readAll,
  readBytes,
  type TestServer,
  tcpClient,
  tcpServer,
  until,
  WAIT_MS,
  within,
} from '../support/tcp.ts';

const SSH = 'ns/ssh';

describe.each(['native', 'streams'])('with the engine %s', (engine) => {
  let control: StandInControl;
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    await control.stop();
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  /** Each test has its own port range, because a recently closed port may still have connections. */
  let next = engine === 'native' ? 21_000 : 22_000;
  const start = async (count = 4, ...flags: string[]): Promise<number> => {
    const from = next;
    next += count;
    control = new StandInControl(`--engine=${engine}`, `--listener-ports=${from}-${next - 1}`, ...flags);
    await control.app.start();
    return from;
  };
  /** Sends its name to each client and then echoes. */
  const server = async (name: string): Promise<TestServer> => {
    const started = await tcpServer((socket) => {
      socket.write(name);
      socket.pipe(socket);
    });
    cleanups.push(() => started.close());
    return started;
  };
  const routeTo = (
    servers: readonly TestServer[],
    allowedCidrs: readonly string[] = [],
    listener = SSH,
  ): Route => ({
    cluster: 'kube',
    namespace: 'ns',
    backends: servers.map(({ address, port }) => {
      const plain = { address, port, netns: null };
      return { ...plain, key: backendKey(plain) };
    }),
    pool: { listener, allowedCidrs },
  });
  const portRoute = (name: string, route: Route, preferredPort: number | null = null): PortRoute => ({
    name,
    preferredPort,
    route,
  });
  const client = async (port: number): Promise<Socket> => {
    const socket = await tcpClient(port);
    cleanups.push(() => socket.destroy());
    return socket;
  };
  const greeted = async (port: number): Promise<{ socket: Socket; by: string }> => {
    const socket = await client(port);
    return { socket, by: (await readBytes(socket, 1)).toString() };
  };
  const record = async (reason: string) => {
    const find = () => control.log.find((line) => line.outcome !== undefined && line.reason === reason);
    await until(`a record of ${reason}`, () => find() !== undefined);
    return find()!;
  };

  test('a requested listener gets a port, and its clients are balanced over the members and counted', async () => {
    const from = await start();
    const servers = [await server('a'), await server('b'), await server('c')];
    const status: ListenerStatus = {
      ...{ name: 'ssh', namespace: 'ns', cluster: 'kube', protocol: 'TCP', port: 22, targetPort: 22 },
      ...{ service: 'kube-ssh', listenPort: from, serverNames: [], state: 'serving', reason: 'ready' },
      detail: null,
      members: [],
    };
    control.publish({ ports: [portRoute(SSH, routeTo(servers))], listeners: [status] });
    const { [SSH]: port } = await control.opened(SSH);
    expect(port).toBe(from);
    const by: string[] = [];
    for (let i = 0; i < 6; i += 1) by.push((await greeted(port!)).by);
    expect(by.sort()).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
    expect((await control.status()).listeners).toMatchObject([{ name: 'ssh', connections: 6 }]);
    const metrics = await control.get('/metrics');
    expect(metrics).toContain('isthmus_listener_connections{namespace="ns",listener="ssh"} 6');
    expect(metrics).not.toContain('isthmus_cluster_connections{');
    expect(control.log).toContainEqual(expect.objectContaining({ msg: 'listener found', listener: 'ssh' }));
  });

  test('a busy port is skipped, a full range is reported, and a waiting listener gets the next free port', async () => {
    const from = await start(2);
    const squatter = createServer().listen(from, '127.0.0.1');
    cleanups.push(() => squatter.close());
    await once(squatter, 'listening');
    const route = routeTo([await server('a')]);
    control.publish({ ports: [portRoute('ns/one', route, from), portRoute('ns/two', route)] });
    await control.opened('ns/one');
    expect(control.outcomes.at(-1)).toEqual({
      'ns/one': { kind: 'open', port: from + 1 },
      'ns/two': {
        kind: 'failed',
        reason: `no port of --listener-ports ${from}-${from + 1} is free: 1 taken by other listeners, 1 by other programs or not permitted`,
      },
    });
    control.publish({ ports: [portRoute('ns/two', route)] });
    expect(await control.opened('ns/two')).toEqual({ 'ns/two': from + 1 });
    expect((await greeted(from + 1)).by).toBe('a');
  });

  test('a held port, to which clients of another listener may still be sent, stays closed until it is released', async () => {
    const from = await start(1);
    const route = routeTo([await server('a')]);
    control.publish({ ports: [portRoute(SSH, route)], heldPorts: [from] });
    await expect
      .poll(() => control.outcomes.at(-1)?.[SSH])
      .toMatchObject({ reason: expect.stringContaining('1 that clients of another listener') });
    control.publish({ heldPorts: [] });
    expect(await control.opened(SSH)).toEqual({ [SSH]: from });
  });

  test('a member that stops under load costs no connection', async () => {
    await start();
    const servers = [await server('a'), await server('b'), await server('c')];
    control.publish({ ports: [portRoute(SSH, routeTo(servers))] });
    const { [SSH]: port } = await control.opened(SSH);
    const seen: string[] = [];
    /** Runs four connections at a time until this many have been served. */
    const load = (count: number) => {
      const enough = seen.length + count;
      return Promise.all(
        Array.from({ length: 4 }, async () => {
          while (seen.length < enough) {
            const { socket, by } = await greeted(port!);
            seen.push(by);
            socket.destroy();
          }
        }),
      );
    };
    await load(30);
    expect(new Set(seen).size).toBe(3);
    // Stops between two connections. A client in the accept queue of a stopping server is lost, and no proxy can prevent that.
    servers[1]!.server.close();
    await load(60); // it refuses connections, and the control thread has not noticed yet
    const more = load(60);
    control.publish({ ports: [portRoute(SSH, routeTo([servers[0]!, servers[2]!]))] });
    await more;
    const { key } = routeTo([servers[1]!]).backends[0]!;
    await until('the control side receives the failed dial', () => control.failedDials.includes(key));
    expect(new Set(seen.slice(-10))).toEqual(new Set(['a', 'c']));
  });

  test('connections to a removed member continue, also after the listener is removed', async () => {
    await start();
    const [a, b] = [await server('a'), await server('b')];
    control.publish({ ports: [portRoute(SSH, routeTo([a]))] });
    const { [SSH]: port } = await control.opened(SSH);
    const { socket } = await greeted(port!);
    control.publish({ ports: [portRoute(SSH, routeTo([b]))] });
    await until('a new connection reaches the other backend', async () => (await greeted(port!)).by === 'b');
    socket.write('still here');
    expect((await readBytes(socket, 10)).toString()).toBe('still here');
    control.publish({ ports: [] });
    await until(
      'the outcome of the closed port',
      () => Object.keys(control.outcomes.at(-1) ?? {}).length === 0,
    );
    const refused = connect({ port: port!, host: '127.0.0.1' });
    await within(WAIT_MS, 'a refusal', new Promise((resolve) => refused.once('error', resolve)));
    socket.write('even now');
    expect((await readBytes(socket, 8)).toString()).toBe('even now');
  });

  test('a client outside the allowed CIDRs is closed, and so is every client while no member is ready; both are logged', async () => {
    await start();
    const servers = [await server('a')];
    control.publish({ ports: [portRoute(SSH, routeTo(servers, ['192.0.2.0/24']))] });
    const { [SSH]: port } = await control.opened(SSH);
    expect(await readAll(await client(port!))).toEqual({ bytes: Buffer.alloc(0), reset: false });
    expect(await record('source-not-allowed')).toMatchObject({
      level: 'warn',
      msg: 'connection refused',
      listener: `listener:${SSH}`,
      pool: SSH,
      cluster: 'kube',
    });
    expect(servers[0]!.sockets).toHaveLength(0);
    control.publish({ ports: [portRoute(SSH, routeTo([], ['127.0.0.0/8']))] });
    await until('the route is there', async () => {
      await readAll(await client(port!));
      return control.log.some(({ reason }) => reason === 'no-healthy-backend');
    });
    control.publish({ ports: [portRoute(SSH, routeTo(servers, ['127.0.0.0/8']))] });
    await until('it is let in', async () => (await firstWord(await client(port!))) === 'a');
  });

  test('a TLS listener shares the port of the clusters, balances, and denies access to clients outside its CIDRs', async () => {
    await start();
    const servers = [await server('a'), await server('b')];
    const name = 'kube-registry.ns';
    const hello = await clientHello(name);
    const publish = (allowed: readonly string[]) =>
      control.publish({
        routes: routeTable([{ serverNames: [name], route: routeTo(servers, allowed, 'ns/registry') }], null),
      });
    const say = async () => {
      const socket = await client(control.port);
      socket.write(hello);
      return socket;
    };
    publish([]);
    await until('it is routed', async () => (await firstWord(await say())) === 'a');
    const by = [];
    for (let i = 0; i < 4; i += 1) by.push(await firstWord(await say()));
    expect(by.sort()).toEqual(['a', 'a', 'b', 'b']);
    publish(['192.0.2.0/24']);
    await until('it is refused', async () => {
      const socket = await say();
      const first = await readBytes(socket, 1);
      return first[0] === 21 && Buffer.concat([first, (await readAll(socket)).bytes])[6] === 49;
    });
    expect(await record('source-not-allowed')).toMatchObject({ pool: 'ns/registry', serverName: name });
  });

  test('a drain closes the port, lets connections finish, and opens no more ports', async () => {
    await start(4, '--drain-timeout=10m');
    control.publish({ ports: [portRoute(SSH, routeTo([await server('a')]))] });
    const { [SSH]: port } = await control.opened(SSH);
    const { socket } = await greeted(port!);
    const drained = control.app.drain();
    await until('it refuses', async () => (await connectError(port!)) !== null);
    socket.write('bye');
    expect((await readBytes(socket, 3)).toString()).toBe('bye');
    socket.end();
    await within(WAIT_MS, 'the drain', drained);
    expect(control.log).toContainEqual(expect.objectContaining({ msg: 'all connections finished' }));
  });

  test('with an empty --listener-ports each TCP listener gets a reason', async () => {
    control = new StandInControl(`--engine=${engine}`, '--listener-ports=');
    await control.app.start();
    control.publish({ ports: [portRoute(SSH, routeTo([]))] });
    await until('the outcome', () => control.outcomes.length > 0);
    expect(control.outcomes).toEqual([
      { [SSH]: { kind: 'failed', reason: expect.stringContaining('--listener-ports is empty') } },
    ]);
  });
});

/** The first byte; empty if the connection closed without one. */
async function firstWord(socket: Socket): Promise<string> {
  const byte = await Promise.race([
    readBytes(socket, 1).then((bytes) => bytes.toString()),
    new Promise<string>((resolve) => socket.once('end', () => resolve(''))),
  ]);
  return byte;
}
