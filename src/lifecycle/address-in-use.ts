// Opens a listening socket, and waits a bounded time while another process holds the address. On the host's network, the older Pod of a
// DaemonSet closes its ports only when it has drained. A process of that Pod is not visible in this PID namespace. A visible process is
// another program, so waiting for it does not help.
import { setTimeout as sleep } from 'node:timers/promises';
import type { PortOwner } from './port-owner.ts';

export interface AddressInUseOptions<T> {
  /** The flag that sets the address, without the dashes. */
  readonly flag: string;
  /** For messages. */
  readonly address: string;
  readonly open: () => Promise<T>;
  /** The process that holds the address; null: none is visible. */
  readonly owner: () => PortOwner | null;
  readonly onWaiting: (message: string) => void;
  /** This process stops: no further attempt. */
  readonly stopping: () => boolean;
  readonly limitMs?: number;
  readonly pauseMs?: number;
}

/** The message names the one address, the flag that sets it, and the process if it is visible. */
class AddressInUseError extends Error {
  readonly code = 'EADDRINUSE';
}

/** The chart gives an old Pod 50 s to drain and end. */
const LIMIT_MS = 60_000;
const PAUSE_MS = 250;

export async function openUnlessInUse<T>(options: AddressInUseOptions<T>): Promise<T> {
  const { flag, address, open, owner, onWaiting, stopping } = options;
  const { limitMs = LIMIT_MS, pauseMs = PAUSE_MS } = options;
  const endMs = performance.now() + limitMs;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await open();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      const found = owner();
      const taken = `--${flag} ${address} is in use by ${holderText(found)}`;
      if (found !== null || stopping() || performance.now() + pauseMs > endMs)
        throw new AddressInUseError(`${taken}: stop it, or choose another --${flag}`);
      if (attempt === 0) onWaiting(`${taken}: trying again for ${Math.round(limitMs / 1000)} s`);
      await sleep(pauseMs);
    }
  }
}

function holderText(owner: PortOwner | null): string {
  if (owner === null) return 'a process of another user or container';
  return `process ${owner.pid} (${owner.command})`;
}
