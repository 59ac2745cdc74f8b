// A route, a port or a server name stays for some time after the last slice of this instance that sends clients there, because all nodes
// need time to see the change. Pure.
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from './kube-world.ts';

export interface SliceUse {
  readonly kube: KubeWorld;
  /** This instance's slices of listeners. */
  readonly ownSlices: readonly OwnedSlice[];
  readonly departureMs: number;
}

export function listenerSliceUse(kube: KubeWorld, departureMs: number): SliceUse {
  const ownSlices: OwnedSlice[] = [];
  for (const list of kube.slices.ours.values())
    for (const slice of list)
      if (slice.listener !== null && slice.instance === kube.self.instance) ownSlices.push(slice);
  return { kube, ownSlices, departureMs };
}

/** Since when no slice sends clients there (monotonic): now while one does. null: long enough, no node still knows that slice. */
export function sinceLastSlice(
  beforeMs: number,
  isInUse: boolean,
  { kube: { nowMs }, departureMs }: Omit<SliceUse, 'ownSlices'>,
): number | null {
  const sinceMs = isInUse ? nowMs : beforeMs;
  return nowMs - sinceMs < departureMs ? sinceMs : null;
}

/** By port: since when no slice of this instance names it (monotonic). While a slice names it, this is the current time. */
export type AdvertisedPorts = ReadonlyMap<number, number>;

/**
 * Ports that slices advertise for listeners, now or recently. No other listener gets such a port. They come from the slices alone, because
 * slices survive a restart.
 */
export function advertisedPorts(before: AdvertisedPorts, use: SliceUse | null): AdvertisedPorts {
  const ports = new Map<number, number>();
  if (use === null) return ports;
  for (const [port, sinceMs] of before)
    if (sinceLastSlice(sinceMs, false, use) !== null) ports.set(port, sinceMs);
  for (const { object } of use.ownSlices)
    for (const { port } of object.ports ?? []) if (port !== undefined) ports.set(port, use.kube.nowMs);
  return ports;
}
