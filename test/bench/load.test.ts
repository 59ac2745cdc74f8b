// The load generator counts faults that cause no error. A backend of this test produces each fault on purpose.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { buildLoad } from '../../bench/harness/build-load.ts';
import { clusterName, writeHellos } from '../../bench/harness/hellos.ts';
import { type ConnectionsResult, type CorrectnessResult, Load } from '../../bench/harness/load.ts';
import { LOAD_CORE, runPinned } from '../../bench/harness/processes.ts';

const able = ['c++', 'taskset'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const directory = mkdtempSync(join(tmpdir(), 'bench-load-'));
const hello = writeHellos(directory, 'classic', [clusterName(0)]);
/** The offset of the letter that names the request in a command of the generator (load/command.h). */
const ASK_AT = 5 + 6 + 4;
let program = '';
let server: Server | null = null;
const sockets = new Set<Socket>();

/** A server that passes each hello and all later data to `onData`. */
async function serve(onData: (socket: Socket, index: number, data: Buffer) => void): Promise<string> {
  let count = 0;
  server = createServer((socket) => {
    const index = count;
    count += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('data', (data) => onData(socket, index, data as Buffer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const isHello = (data: Buffer): boolean => data[0] === 22;

describe.skipIf(!able)('the load generator (needs c++)', () => {
  beforeAll(() => {
    program = buildLoad();
  }, 900_000); // a bound: it compiles

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    server?.close();
  });

  describe('of three kept connections it counts', () => {
    /** Echoes. From the fifth request on, `fate` decides what the second connection gets. Returns the number of broken connections. */
    const broken = async (fate: (socket: Socket, data: Buffer) => void): Promise<number> => {
      let answered = 0;
      const target = await serve((socket, index, data) => {
        if (isHello(data)) socket.write('!');
        else if (index !== 1 || ++answered < 5) socket.write(data);
        else fate(socket, data);
      });
      const timing = { seconds: 1.2, warmup: 0.1 };
      return (await new Load(program).requests(target, hello, timing, 3, { mayBreak: true })).errors;
    };

    test('none as broken if all are answered', async () => {
      expect(await broken((socket, data) => socket.write(data))).toBe(0);
    });
    test('one that gets no answer as broken', async () => {
      expect(await broken(() => {})).toBe(1);
    });
    test('one that gets half an answer as broken', async () => {
      expect(await broken((socket, data) => socket.write(data.subarray(0, 10)))).toBe(1);
    });
    test('one that the backend ends as broken once', async () => {
      expect(await broken((socket) => socket.end())).toBe(1);
    });
    test('one that the backend resets as broken once', async () => {
      expect(await broken((socket) => socket.resetAndDestroy())).toBe(1);
    });
  });

  test('counts arrivals that never started, with the time that they waited', async () => {
    const target = await serve(() => {});
    const [rate, seconds, inFlight] = [2000, 1, 50];
    const { stdout } = await runPinned(
      LOAD_CORE,
      program,
      [
        'connections',
        '--target',
        target,
        '--hello',
        hello,
        '--rate',
        `${rate}`,
        '--seconds',
        `${seconds}`,
      ].concat(['--warmup', '0', '--in-flight', `${inFlight}`]),
      60,
    );
    const { latency, lag, open, unbegun, errors } = JSON.parse(stdout) as ConnectionsResult;
    expect([open, errors]).toEqual([inFlight, 0]);
    expect(latency.count).toBe(inFlight + unbegun);
    expect(lag.count).toBe(latency.count);
    // Arrivals are random with a fixed seed: 2000 expected, plus or minus three standard deviations.
    expect(Math.abs(latency.count - rate * seconds)).toBeLessThan(3 * Math.sqrt(rate * seconds));
    // No connection got an answer, so half of them waited for at least half of the run. A slow machine ends the run later.
    expect(latency.p50).toBeGreaterThan(0.45e6 * seconds);
  });

  describe('if a backend shall send 1000 bytes and reset, but', () => {
    const problem = async (fate: (socket: Socket) => void): Promise<string | undefined> => {
      const target = await serve((socket, _, data) => {
        if (isHello(data) && data[ASK_AT] === 'T'.charCodeAt(0)) fate(socket);
        else socket.destroy(); // lets the other cases fail at once
      });
      const files = ['--hello', hello, '--large-hello', hello, '--unknown-hello', hello];
      const { stdout } = await runPinned(
        LOAD_CORE,
        program,
        ['correctness', '--target', target, ...files],
        60,
      );
      const { cases } = JSON.parse(stdout) as CorrectnessResult;
      return cases.find(({ name }) => name === 'reset by the backend')?.problem;
    };
    const sends = (socket: Socket, bytes: number, then: () => void): void => {
      socket.write('r'.repeat(bytes), then);
    };

    test.each<[string, (socket: Socket) => void, string]>([
      [
        'does exactly that, there is no problem',
        (socket) => sends(socket, 1000, () => socket.resetAndDestroy()),
        '',
      ],
      [
        'ends in order, the missing reset is reported',
        (socket) => sends(socket, 1000, () => socket.end()),
        "the backend's reset arrived as an orderly end",
      ],
      [
        'sends no bytes, the lost bytes are reported',
        (socket) => socket.resetAndDestroy(),
        '1000 of the 1000 bytes before the reset were lost',
      ],
      [
        'sends fewer bytes and ends in order, both are reported',
        (socket) => sends(socket, 400, () => socket.end()),
        "600 of the 1000 bytes before the reset were lost, and the backend's reset arrived as an orderly end",
      ],
      [
        'sends one byte more, that is reported',
        (socket) => sends(socket, 1001, () => socket.end()),
        'more bytes than were sent',
      ],
    ])('%s', async (_, fate, expected) => {
      expect(await problem(fate)).toBe(expected);
    });
  });
});
