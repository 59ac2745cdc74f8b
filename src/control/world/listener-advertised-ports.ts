// Ports that our own slices send clients of listeners to, or did until lately: as long as every node may take to hear otherwise, none of
// them is another listener's. Asks nothing but slices, since a restart forgets all else. Pure.

import { sliceIndex } from '../objects/slice-index.ts';
import type { KubeWorld } from './kube-world.ts';

/** By port: since when no slice of ours has named it (monotonic); now, while one still does. */
export type AdvertisedPorts = ReadonlyMap<number, number>;

export function advertisedPorts(
  kube: KubeWorld | null,
  before: AdvertisedPorts,
  departureMs: number,
): AdvertisedPorts {
  const ports = new Map<number, number>();
  // Where nothing is published nobody is sent anywhere.
  if (kube === null) return ports;
  const { nowMs, slices, self } = kube;
  for (const [port, sinceMs] of before) if (nowMs - sinceMs < departureMs) ports.set(port, sinceMs);
  for (const list of sliceIndex(slices).ours.values())
    for (const { listener, instance, object } of list) {
      if (listener === null || instance !== self.instance) continue;
      for (const { port } of object.ports ?? []) if (port !== undefined) ports.set(port, nowMs);
    }
  return ports;
}
