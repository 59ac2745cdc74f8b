// A route, a port or a server name stays for some time after the last slice of this instance that sends clients there. All nodes need
// time to see the change. One rule for clusters and listeners. Pure.
import type { OwnedSlice } from '../objects/slice-index.ts';
import type { KubeWorld } from './kube-world.ts';

export interface SliceWait {
  readonly kube: KubeWorld;
  readonly departureMs: number;
}

export interface SliceUse extends SliceWait {
  /** This instance's slices of listeners. */
  readonly ownSlices: readonly OwnedSlice[];
}

export function listenerSliceUse(kube: KubeWorld, departureMs: number): SliceUse {
  const ownSlices: OwnedSlice[] = [];
  for (const list of kube.slices.ours.values())
    for (const slice of list)
      if (slice.listener !== null && slice.instance === kube.self.instance) ownSlices.push(slice);
  return { kube, ownSlices, departureMs };
}

/** Since when no slice sends clients there (monotonic); now, while one does. null: so long that no node knows the slice any more. */
function sinceLastSlice(
  beforeMs: number,
  isInUse: boolean,
  { kube: { nowMs }, departureMs }: SliceWait,
): number | null {
  const sinceMs = isInUse ? nowMs : beforeMs;
  return nowMs - sinceMs < departureMs ? sinceMs : null;
}

/** A cluster that is no longer proxied, a deleted listener, or a replaced entry point, until its withdrawal is finished. */
export interface Departure {
  /** Since when no slice of this instance sends clients here (monotonic). While a slice does, this is the current time. */
  readonly sinceMs: number;
}

/** By key. */
export type Departures<T extends Departure> = ReadonlyMap<string, T>;

/**
 * Joins the departures that begin in this turn with those of earlier turns. While a slice cannot be deleted, its route or port stays, because
 * kube-proxy still sends clients to it.
 */
export function departures<T extends Departure>(
  leaving: Departures<T>,
  left: Departures<T>,
  isInUse: (key: string, departure: T) => boolean,
  wait: SliceWait,
): Departures<T> {
  const departing = new Map(leaving);
  for (const [key, departure] of left) {
    if (departing.has(key)) continue;
    const sinceMs = sinceLastSlice(departure.sinceMs, isInUse(key, departure), wait);
    if (sinceMs !== null) departing.set(key, { ...departure, sinceMs });
  }
  return departing;
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
