// The network of a Pod, as CNI's `ptp` plugin makes it: a netns, one end of a veth pair in it, an address, a default route to the
// node. The addresses are from documentation ranges; no packet leaves the sandbox.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { ip } from '../support/network/netns.ts';

export type Family = 4 | 6;

const PREFIX = { 4: '198.51.100.', 6: '2001:db8:1::' } as const;
const WHOLE = { 4: 32, 6: 128 } as const;
const NODE = 1;
let counter = 0;

/** Gives this node an address that Pods can reach. The call is idempotent. */
export function nodeAddress(family: Family): string {
  const address = `${PREFIX[family]}${NODE}`;
  give([], address, family, 'lo');
  return address;
}

function give(where: readonly string[], address: string, family: Family, device: string): void {
  // Duplicate address detection is not needed: there is no other host.
  const now = family === 6 ? ['nodad'] : [];
  ip(...where, 'address', 'replace', `${address}/${WHOLE[family]}`, 'dev', device, ...now);
}

export class PodNetwork {
  /** As with containerd, the namespace is in the directory that Isthmus watches. */
  readonly path: string;
  readonly address: string;
  readonly #name: string;

  constructor(family: Family) {
    counter += 1;
    const node = nodeAddress(family);
    this.#name = `cni-${randomUUID()}`;
    this.path = `/run/netns/${this.#name}`;
    this.address = `${PREFIX[family]}${NODE + counter}`;
    // Not with `ip netns add`: it makes the directory a separate mount, which a container engine does not do.
    writeFileSync(this.path, '');
    execFileSync('unshare', [`--net=${this.path}`, 'true']);
    const inside = ['-n', this.#name];
    const device = `pod${counter}`;
    ip('link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name);
    ip('link', 'set', device, 'up');
    give([], node, family, device);
    ip('route', 'add', `${this.address}/${WHOLE[family]}`, 'dev', device, 'src', node);
    for (const each of ['lo', 'eth0']) ip(...inside, 'link', 'set', each, 'up');
    give(inside, this.address, family, 'eth0');
    ip(...inside, 'route', 'add', `${node}/${WHOLE[family]}`, 'dev', 'eth0');
    ip(...inside, `-${family}`, 'route', 'add', 'default', 'via', node, 'dev', 'eth0');
  }

  /** Removes the netns and with it the veth pair. */
  remove(): void {
    ip('netns', 'delete', this.#name);
  }
}
