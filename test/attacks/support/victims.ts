// Honest clients during an attack. A client is served if it completes a TLS handshake within 3 s.
import { once } from 'node:events';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { until, WAIT_MS, within } from '../../support/tcp.ts';
import type { TestCluster } from '../../support/two-clusters.ts';

const SERVED_WITHIN_MS = 3000;
/** No attacker uses this address. */
const VICTIM_ADDRESS = '127.0.0.9';

export interface Visits {
  served: number;
  /** The reasons why the other clients were not served, with their counts. */
  readonly failures: Record<string, number>;
}

interface Door {
  readonly port: number;
  readonly cluster: TestCluster;
}

function enter({ port, cluster }: Door): TLSSocket {
  return connectTls({
    ...{ host: '127.0.0.1', port, localAddress: VICTIM_ADDRESS },
    ...{ servername: `${cluster.name}.magnum-system`, ca: cluster.certificate.cert },
  });
}

/** Why this client was not served; null if it was. */
function failure(door: Door): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = enter(door);
    const settle = (result: string | null) => {
      clearTimeout(timer);
      resolve(result);
      socket.destroy();
    };
    const timer = setTimeout(() => settle(`not within ${SERVED_WITHIN_MS} ms`), SERVED_WITHIN_MS);
    socket.on('secureConnect', () => settle(null));
    socket.on('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    socket.on('close', () => settle('closed'));
  });
}

/** Starts `count` clients, one every `everyMs`. No client waits for another. */
export async function visits(door: Door, count: number, everyMs: number): Promise<Visits> {
  const results: Promise<string | null>[] = [];
  for (let i = 0; i < count; i += 1) {
    results.push(failure(door));
    if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  const all: Visits = { served: 0, failures: {} };
  for (const result of await Promise.all(results)) {
    if (result === null) all.served += 1;
    else all.failures[result] = (all.failures[result] ?? 0) + 1;
  }
  return all;
}

const ASK_EVERY_MS = 500;

/** A client that connects before the attack, keeps its connection, and sends requests through it repeatedly. */
export class Resident {
  #answers = 0;
  #end: string | null = null;
  readonly #socket: TLSSocket;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    const ask = () => void socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const timer = setInterval(ask, ASK_EVERY_MS);
    socket.on('data', () => {
      this.#answers += 1;
    });
    socket.on('error', (error) => {
      this.#end ??= error.message;
    });
    socket.on('close', () => {
      clearInterval(timer);
      this.#end ??= 'closed';
    });
  }

  static async enter(door: Door): Promise<Resident> {
    const socket = enter(door);
    const resident = new Resident(socket);
    await within(WAIT_MS, 'the handshake of a resident', once(socket, 'secureConnect'));
    await resident.isAnswered();
    return resident;
  }

  /** Throws if the connection has ended since it was opened. */
  async isAnswered(): Promise<void> {
    const before = this.#answers;
    await until('the resident is answered', () => this.#answers > before || this.#end !== null);
    if (this.#end !== null) throw new Error(`the resident was cut off: ${this.#end}`);
  }

  leave(): void {
    this.#socket.destroy();
  }
}
