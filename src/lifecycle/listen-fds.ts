// Reads what systemd says about the sockets it opened for us (sd_listen_fds(3)). Pure.

export interface ListenFd {
  readonly name: string;
  readonly fd: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const FIRST_FD = 3;
const MOST_FDS = 1024;

export const LISTEN_VARIABLES = ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'] as const;

/** None when they were meant for another process: for our parent, say, which told its children nothing of it. */
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
