// The metrics of additional listeners: counts by state and no machine names. Thousands of members of a listener make three series.

import type { ListenerState, ListenerStatus } from '../../control/desired/listener-status.ts';
import { memberCounts } from '../status/listener-view.ts';
import type { Metric, Sample } from './metric-registry.ts';

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

export const listenerMetrics = ({ listeners, connectionsPerListener }: ListenerMetricsSources): Metric[] => [
  {
    name: 'isthmus_listeners',
    type: 'gauge',
    help: 'Additional listeners by state',
    labelNames: ['state'],
    samples: () =>
      STATES.map((state): Sample => [listeners().filter((each) => each.state === state).length, { state }]),
  },
  {
    name: 'isthmus_listener_members',
    type: 'gauge',
    help: 'Members of an additional listener by state; Ignored members do not count as healthy or unhealthy',
    labelNames: ['namespace', 'listener', 'state'],
    samples: () =>
      listeners().flatMap(({ namespace, name: listener, members }): Sample[] => {
        const { ready, notReady, ignored } = memberCounts(members);
        return [
          [ready, { namespace, listener, state: 'Ready' }],
          [notReady, { namespace, listener, state: 'NotReady' }],
          [ignored, { namespace, listener, state: 'Ignored' }],
        ];
      }),
  },
  {
    name: 'isthmus_listener_connections',
    type: 'gauge',
    help: 'Open connections by additional listener',
    labelNames: ['namespace', 'listener'],
    samples: () => {
      const open = connectionsPerListener();
      return listeners().map(
        ({ namespace, name: listener }): Sample => [
          open.get(`${namespace}/${listener}`) ?? 0,
          { namespace, listener },
        ],
      );
    },
  },
];
