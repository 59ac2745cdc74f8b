// Clients of one cluster that run while a test acts on the proxy. Visitors open a new connection each time; residents keep one
// connection and send requests on it repeatedly. Every failure is recorded as text.
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { until, WAIT_MS } from './tcp.ts';
import type { TestCluster } from './two-clusters.ts';

export interface Door {
  /** Loopback by default. */
  readonly host?: string;
  readonly port: number;
  readonly cluster: Pick<TestCluster, 'name' | 'certificate'>;
}

export class ClientTraffic {
  readonly problems: string[] = [];
  visits = 0;
  answers = 0;
  readonly #door: () => Door;
  readonly #residents = new Set<TLSSocket>();
  readonly #loops: Promise<void>[] = [];
  #going = true;

  /** A function chooses where each connection goes, as kube-proxy does. */
  constructor(door: Door | (() => Door)) {
    this.#door = typeof door === 'function' ? door : () => door;
  }

  visitors(count: number): void {
    for (let i = 0; i < count; i += 1) this.#loops.push(this.#visit());
  }

  async residents(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const socket = await this.#enter();
      this.#residents.add(socket);
      await ask(socket);
      this.#loops.push(this.#reside(socket));
    }
  }

  /** Waits for this many more visits and answers. */
  async goesOn(count: number): Promise<void> {
    const [visits, answers] = [this.visits, this.answers];
    await until(
      'clients are served',
      () => this.visits >= visits + count && (this.#residents.size === 0 || this.answers >= answers + count),
    );
  }

  get residing(): number {
    return this.#residents.size;
  }

  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#loops);
  }

  async #visit(): Promise<void> {
    while (this.#going) {
      try {
        const socket = await this.#enter();
        await ask(socket);
        socket.destroy();
        this.visits += 1;
      } catch (error) {
        this.problems.push(`visitor: ${(error as Error).message}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async #reside(socket: TLSSocket): Promise<void> {
    try {
      while (this.#going) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await ask(socket);
        this.answers += 1;
      }
    } catch (error) {
      this.problems.push(`resident: ${(error as Error).message}`);
    } finally {
      this.#residents.delete(socket);
      socket.destroy();
    }
  }

  async #enter(): Promise<TLSSocket> {
    const { host = '127.0.0.1', port, cluster } = this.#door();
    const servername = `${cluster.name}.magnum-system`;
    const socket = connectTls({ host, port, servername, ca: cluster.certificate.cert });
    socket.on('error', () => {});
    await event(socket, 'secureConnect');
    return socket;
  }
}

async function ask(socket: TLSSocket): Promise<void> {
  const heard = event(socket, 'data');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [answer] = await heard;
  if (!String(answer).startsWith('HTTP/1.1 200')) throw new Error(`answered ${String(answer).slice(0, 40)}`);
}

/** Rejects if the connection ends first, or if no answer arrives in time. */
function event(socket: TLSSocket, name: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      socket.off(name, came).off('close', closed);
      act();
    };
    const came = (...values: unknown[]) => settle(() => resolve(values));
    const closed = () => settle(() => reject(new Error(`closed before ${name}${why(socket)}`)));
    const timer = setTimeout(
      () => settle(() => reject(new Error(`waited ${WAIT_MS} ms for ${name}`))),
      WAIT_MS,
    );
    if (socket.destroyed) closed();
    else socket.once(name, came).once('close', closed);
  });
}

/** Tells a refused connection from a reset one. */
const why = ({ errored }: TLSSocket) => (errored === null ? '' : `: ${errored.message}`);
