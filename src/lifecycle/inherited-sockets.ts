// Listening sockets that another process opened, by name, until the part that wants one takes it. What nobody takes is closed.
import { isIPv6 } from 'node:net';

export interface HandedSocket {
  readonly name: string;
  readonly fd: number;
  readonly address: string;
  readonly port: number;
  /** Opened by the supervisor (a .socket unit), which decides where: no flag of ours is compared with it. */
  readonly pinned: boolean;
}

/** As `--listen` and the like say it. */
export interface WantedEndpoint {
  readonly host: string | undefined;
  readonly port: number;
  /** Where the port is 0: any of these. */
  readonly range?: { readonly from: number; readonly to: number };
  /** None of these. */
  readonly except?: ReadonlySet<number>;
}

export class InheritedSockets {
  readonly #sockets: Map<string, HandedSocket>;
  readonly #close: (fd: number) => void;
  /** Those whose name another has already: closed. */
  readonly surplus: readonly HandedSocket[];

  constructor(sockets: readonly HandedSocket[], close: (fd: number) => void) {
    this.#sockets = new Map();
    this.#close = close;
    // One for each name: clients of another would wait for ever in a queue that nobody knows of.
    const surplus: HandedSocket[] = [];
    for (const socket of sockets) {
      if (this.#sockets.has(socket.name)) {
        surplus.push(socket);
        close(socket.fd);
      } else this.#sockets.set(socket.name, socket);
    }
    this.surplus = surplus;
  }

  /** Hands it out once; undefined when there is none, or only one that listens elsewhere than is wanted now. */
  take(name: string, wanted: WantedEndpoint): number | undefined {
    const socket = this.#sockets.get(name);
    if (socket === undefined || !(socket.pinned || isThere(socket, wanted))) return undefined;
    this.#sockets.delete(name);
    return socket.fd;
  }

  /** Their names: clients that come there wait for somebody to accept them. */
  get left(): readonly string[] {
    return [...this.#sockets.keys()];
  }

  closeRest(): void {
    for (const { fd } of this.#sockets.values()) this.#close(fd);
    this.#sockets.clear();
  }
}

function isThere({ address, port }: HandedSocket, wanted: WantedEndpoint): boolean {
  const { from, to } = wanted.range ?? { from: 1, to: 65_535 };
  if (wanted.except?.has(port)) return false;
  if (wanted.port === 0 ? port < from || port > to : port !== wanted.port) return false;
  // No address means all of them: on a machine without IPv6 those of IPv4.
  if (wanted.host === undefined) return address === '::' || address === '0.0.0.0';
  return plain(wanted.host) === plain(address);
}

/** One spelling for an address: `::1` and `0:0:0:0:0:0:0:1` are the same. */
function plain(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname : address;
}

export interface ListenFd {
  readonly name: string;
  readonly fd: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const FIRST_FD = 3;
const MOST_FDS = 1024;

export const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as const;

/** The sockets that systemd opened for us (sd_listen_fds(3)). None when they were meant for another process: for our parent, say, which told its children nothing of it. */
export function listenFds(environment: Environment, pid: number): readonly ListenFd[] {
  const count = Number(environment.LISTEN_FDS);
  if (Number(environment.LISTEN_PID) !== pid || !Number.isInteger(count) || count < 1 || count > MOST_FDS)
    return [];
  const names = (environment.LISTEN_FDNAMES ?? '').split(':');
  const found = Array.from({ length: count }, (_, i) => ({ name: names[i] ?? '', fd: FIRST_FD + i }));
  if (found.some(({ name }) => name === 'tls')) return found;
  // Without FileDescriptorName= it has the unit's name: the first one that is not meant for something else is for clients.
  const first = found.findIndex(({ name }) => name !== 'admin' && name !== 'health');
  return found.map((each, i) => (i === first ? { ...each, name: 'tls' } : each));
}
