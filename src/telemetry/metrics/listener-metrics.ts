// The metrics of additional listeners: counts by state and no machine names. Thousands of members of a listener make three series.

import type { ListenerState, ListenerStatus } from '../../control/desired/listener-status.ts';
import { memberCounts } from '../status/listener-view.ts';
import { Gauge, type Registry } from './prometheus.ts';

const STATES: readonly ListenerState[] = [
  'serving',
  'unhealthy',
  'no-members',
  'no-netns',
  'pending',
  'invalid',
];

export interface ListenerMetricsSources {
  readonly listeners: () => readonly ListenerStatus[];
  readonly connectionsPerListener: () => ReadonlyMap<string, number>;
}

export function addListenerMetrics(registry: Registry, sources: ListenerMetricsSources): void {
  const registers = [registry];
  new Gauge({
    name: 'isthmus_listeners',
    help: 'Additional listeners by state',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of STATES)
        this.set({ state }, sources.listeners().filter((listener) => listener.state === state).length);
    },
  });
  new Gauge({
    name: 'isthmus_listener_members',
    help: 'Members of an additional listener by state; Ignored ones are neither well nor unwell',
    labelNames: ['namespace', 'listener', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { namespace, name: listener, members } of sources.listeners()) {
        const { ready, notReady, ignored } = memberCounts(members);
        this.set({ namespace, listener, state: 'Ready' }, ready);
        this.set({ namespace, listener, state: 'NotReady' }, notReady);
        this.set({ namespace, listener, state: 'Ignored' }, ignored);
      }
    },
  });
  new Gauge({
    name: 'isthmus_listener_connections',
    help: 'Open connections by additional listener',
    labelNames: ['namespace', 'listener'],
    registers,
    collect() {
      this.reset();
      const open = sources.connectionsPerListener();
      for (const { namespace, name: listener } of sources.listeners())
        this.set({ namespace, listener }, open.get(`${namespace}/${listener}`) ?? 0);
    },
  });
}
