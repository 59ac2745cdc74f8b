// Listening sockets from systemd or from the predecessor process, by name. Each listener takes its own; unclaimed sockets are closed.
import { isIPv6 } from 'node:net';
import type { Environment } from './settings-environment.ts';

export interface HandedSocket {
  readonly name: string;
  readonly fd: number;
  readonly address: string;
  readonly port: number;
  /** Opened by the supervisor (a .socket unit), which decides the address. No flag is compared with it. */
  readonly pinned: boolean;
}

/** The address from `--listen` or a similar flag. */
export interface WantedEndpoint {
  readonly host: string | undefined;
  readonly port: number;
  /** If the port is 0: any port of this range. */
  readonly range?: { readonly from: number; readonly to: number };
  /** Ports that must not be used. */
  readonly except?: ReadonlySet<number>;
}

export class InheritedSockets {
  readonly #sockets: Map<string, HandedSocket>;
  readonly #close: (fd: number) => void;
  /** Sockets that were closed because an earlier socket has the same name. */
  readonly surplus: readonly HandedSocket[];

  constructor(sockets: readonly HandedSocket[], close: (fd: number) => void) {
    this.#sockets = new Map();
    this.#close = close;
    // One socket for each name. No listener would accept from a second one, and its clients would wait in its queue for ever.
    const surplus: HandedSocket[] = [];
    for (const socket of sockets) {
      if (this.#sockets.has(socket.name)) {
        surplus.push(socket);
        close(socket.fd);
      } else this.#sockets.set(socket.name, socket);
    }
    this.surplus = surplus;
  }

  /** Hands out a socket once; undefined if there is none, or if it listens at another address than the wanted one. */
  take(name: string, wanted: WantedEndpoint): number | undefined {
    const socket = this.#sockets.get(name);
    if (socket === undefined || !(socket.pinned || isThere(socket, wanted))) return undefined;
    this.#sockets.delete(name);
    return socket.fd;
  }

  /** Names of the unclaimed sockets. Clients that connect to them wait in the accept queue. */
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
  // No address means all addresses. On a machine without IPv6 that is 0.0.0.0.
  if (wanted.host === undefined) return address === '::' || address === '0.0.0.0';
  return plain(wanted.host) === plain(address);
}

/** The canonical spelling: `::1` and `0:0:0:0:0:0:0:1` are the same address. */
function plain(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname : address;
}

export interface ListenFd {
  readonly name: string;
  readonly fd: number;
}

const FIRST_FD = 3;
const MOST_FDS = 1024;

export const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as const;

/** The sockets that systemd opened for this process (sd_listen_fds(3)). Empty if LISTEN_PID names another process, such as our parent. */
export function listenFds(environment: Environment, pid: number): readonly ListenFd[] {
  const count = Number(environment.LISTEN_FDS);
  if (Number(environment.LISTEN_PID) !== pid || !Number.isInteger(count) || count < 1 || count > MOST_FDS)
    return [];
  const names = (environment.LISTEN_FDNAMES ?? '').split(':');
  const found = Array.from({ length: count }, (_, i) => ({ name: names[i] ?? '', fd: FIRST_FD + i }));
  if (found.some(({ name }) => name === 'tls')) return found;
  // Without FileDescriptorName= a socket has the unit's name. The first socket without another purpose is for clients.
  const first = found.findIndex(({ name }) => name !== 'admin' && name !== 'health');
  return found.map((each, i) => (i === first ? { ...each, name: 'tls' } : each));
}
