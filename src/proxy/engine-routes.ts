// Updates the slot shares and the netns handles of an engine when the routes change.
import type { NetnsRef } from '../netns/netns-ref.ts';
import type { PortRoute, RouteTable } from '../routing/route-table.ts';
import { routedGroups, slotShares } from './connection-shares.ts';
import type { Engine } from './engine.ts';

export interface Routed {
  readonly routes: RouteTable;
  readonly ports: readonly PortRoute[];
  readonly backends: readonly { readonly netns: NetnsRef | null }[];
}

export interface EngineRoutesOptions {
  readonly engine: Pick<Engine, 'shareSlots' | 'retainNetns'>;
  readonly maxConnections: number;
  readonly intervalMs: number;
  readonly routed: () => Routed;
}

export class EngineRoutes {
  readonly #options: EngineRoutesOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EngineRoutesOptions) {
    this.#options = options;
  }

  /**
   * Repeats both updates at an interval: a connection of the previous route table may still open a netns that the new table does
   * not contain.
   */
  start(): void {
    this.#timer = setInterval(() => {
      this.retainNetns();
      this.shareSlots();
    }, this.#options.intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  shareSlots(): void {
    const { engine, maxConnections, routed } = this.#options;
    const { routes, ports } = routed();
    engine.shareSlots(slotShares(maxConnections, routedGroups(routes, ports)));
  }

  /** Closes the netns handles that no backend uses. */
  retainNetns(): void {
    const { engine, routed } = this.#options;
    engine.retainNetns(routed().backends.flatMap(({ netns }) => netns ?? []));
  }
}
