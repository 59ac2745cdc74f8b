// Real network namespaces for tests, made with `ip` inside the sandbox of `npm test`. All of them are below /run/netns in the
// sandbox's own mount namespace, so even a killed test leaves nothing behind.
import { execFileSync } from 'node:child_process';

let counter = 0;

/** A netns with loopback up and the given addresses on it; the name is unique unless one is given. */
export function makeNetns(options: { name?: string; addresses?: readonly string[] } = {}): {
  name: string;
  path: string;
  remove(): void;
} {
  const name = options.name ?? `t-${process.pid}-${++counter}`;
  ip('netns', 'add', name);
  ip('-n', name, 'link', 'set', 'lo', 'up');
  for (const address of options.addresses ?? []) {
    ip('-n', name, 'address', 'add', address, 'dev', 'lo', ...(address.includes(':') ? ['nodad'] : []));
  }
  return { name, path: `/run/netns/${name}`, remove: () => ip('netns', 'delete', name) };
}

export function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Arguments that run a command inside a netns. */
export function inNetns(name: string, ...command: string[]): [string, string[]] {
  return ['ip', ['netns', 'exec', name, ...command]];
}
