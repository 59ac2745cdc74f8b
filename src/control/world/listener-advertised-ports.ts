// Ports that this instance's own slices advertise for listeners, now or recently. No other listener gets such a port until all nodes
// have had time to see the change. The ports come from the slices alone, because slices survive a restart. Pure.

import type { KubeWorld } from './kube-world.ts';

/** By port: since when no slice of this instance names it (monotonic). While a slice names it, this is the current time. */
export type AdvertisedPorts = ReadonlyMap<number, number>;

export function advertisedPorts(
  kube: KubeWorld | null,
  before: AdvertisedPorts,
  departureMs: number,
): AdvertisedPorts {
  const ports = new Map<number, number>();
  // Without a Kubernetes API nothing is published, so no slice advertises a port.
  if (kube === null) return ports;
  const { nowMs, slices, self } = kube;
  for (const [port, sinceMs] of before) if (nowMs - sinceMs < departureMs) ports.set(port, sinceMs);
  for (const list of slices.ours.values())
    for (const { listener, instance, object } of list) {
      if (listener === null || instance !== self.instance) continue;
      for (const { port } of object.ports ?? []) if (port !== undefined) ports.set(port, nowMs);
    }
  return ports;
}
