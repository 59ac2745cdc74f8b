// When each alert of the chart fires and when it does not: series as Prometheus would scrape them, one sample per minute.
// `1x10` repeats 1 ten times after the first sample, `0+60x10` grows by 60 each time, `_` is a missing sample.

export interface AlertCase {
  readonly alert: string;
  /** The state of the site. */
  readonly when: string;
  readonly series: Readonly<Record<string, string>>;
  readonly at: string;
  /** For each firing alert: its distinguishing labels, and the value if its text shows it. Empty: the alert does not fire. */
  readonly fires: readonly { readonly labels: Readonly<Record<string, string>>; readonly value?: string }[];
}

const on = (node: string) => ({ node });
/** For an alert that keeps the labels of its series. */
const whole = (node: string, value?: string) => ({
  labels: on(node),
  ...(value === undefined ? {} : { value }),
});

/** One gauge per instance: the alert fires on the node with the first values, not on the node with the second values. */
function gauge(
  alert: string,
  name: string,
  [bad, good]: [string, string],
  at: string,
  value?: string,
): AlertCase[] {
  return [
    {
      ...{ alert, at, when: `on one of two nodes: ${name} is ${bad}` },
      series: { [`${name}{node="net-1"}`]: bad, [`${name}{node="net-2"}`]: good },
      fires: [whole('net-1', value)],
    },
    {
      ...{ alert, at, when: `on both nodes: ${name} is ${good}` },
      series: { [`${name}{node="net-1"}`]: good, [`${name}{node="net-2"}`]: good },
      fires: [],
    },
  ];
}

const SERVING = 'isthmus_cluster_serving';
const MEMBERS = 'isthmus_listener_members';
const ENDED = 'isthmus_connections_ended_total';
const FAILED = 'isthmus_dial_failures_total{error="ETIMEDOUT",node="net-1"}';
const SERVED = `${ENDED}{node="net-1",outcome="finished",reason="finished"}`;
const member = (node: string, state: string) =>
  `${MEMBERS}{node="${node}",namespace="tenants",listener="ssh",state="${state}"}`;
const listenerCase = (when: string, series: Record<string, string>, isFiring: boolean): AlertCase => ({
  ...{ alert: 'IsthmusListenerUnreachable', when, series, at: '7m' },
  fires: isFiring ? [{ labels: { namespace: 'tenants', listener: 'ssh' } }] : [],
});

export const ALERT_CASES: readonly AlertCase[] = [
  {
    ...{ alert: 'IsthmusAbsent', when: 'the last instance is gone for more than five minutes', at: '12m' },
    // A sample is valid for five minutes.
    series: { 'isthmus_build_info{node="net-1",version="1"}': '1 1 _x12' },
    fires: [{ labels: {} }],
  },
  {
    ...{ alert: 'IsthmusAbsent', when: 'one of two instances is up', at: '12m' },
    series: {
      'isthmus_build_info{node="net-1",version="1"}': '1 1 _x12',
      'isthmus_build_info{node="net-2",version="1"}': '1x14',
    },
    fires: [],
  },
  {
    ...{ alert: 'IsthmusClusterUnreachable', when: 'no instance reaches one of two clusters', at: '7m' },
    series: {
      [`${SERVING}{node="net-1",namespace="tenants",cluster="alpha"}`]: '1x8',
      [`${SERVING}{node="net-2",namespace="tenants",cluster="alpha"}`]: '0x8',
      [`${SERVING}{node="net-1",namespace="tenants",cluster="beta"}`]: '0x8',
      [`${SERVING}{node="net-2",namespace="tenants",cluster="beta"}`]: '0x8',
    },
    fires: [{ labels: { namespace: 'tenants', cluster: 'beta' } }],
  },
  {
    ...{ alert: 'IsthmusClusterUnreachable', when: 'one node takes over from another (OVN)', at: '9m' },
    series: {
      [`${SERVING}{node="net-1",namespace="tenants",cluster="alpha"}`]: '1x3 0x6',
      [`${SERVING}{node="net-2",namespace="tenants",cluster="alpha"}`]: '0x3 0 1x5',
    },
    fires: [],
  },
  {
    ...{ alert: 'IsthmusClusterUnreachable', when: 'two namespaces have a cluster of one name', at: '7m' },
    series: {
      [`${SERVING}{node="net-1",namespace="tenants",cluster="alpha"}`]: '1x8',
      [`${SERVING}{node="net-1",namespace="others",cluster="alpha"}`]: '0x8',
    },
    fires: [{ labels: { namespace: 'others', cluster: 'alpha' } }],
  },
  listenerCase(
    'it has members, and no instance reaches one',
    {
      ...{ [member('net-1', 'Ready')]: '0x8', [member('net-1', 'NotReady')]: '2x8' },
      ...{ [member('net-2', 'Ready')]: '0x8', [member('net-2', 'NotReady')]: '2x8' },
    },
    true,
  ),
  listenerCase(
    'another instance reaches one',
    {
      ...{ [member('net-1', 'Ready')]: '0x8', [member('net-1', 'NotReady')]: '2x8' },
      ...{ [member('net-2', 'Ready')]: '1x8', [member('net-2', 'NotReady')]: '1x8' },
    },
    false,
  ),
  listenerCase(
    'it has only members of the next generation',
    {
      ...{ [member('net-1', 'Ready')]: '0x8', [member('net-1', 'NotReady')]: '0x8' },
      [member('net-1', 'Ignored')]: '3x8',
    },
    false,
  ),
  ...gauge('IsthmusNotReady', 'isthmus_ready', ['0x8', '1x8'], '7m'),
  {
    ...{ alert: 'IsthmusNotReady', when: 'the instance takes three minutes to start', at: '7m' },
    series: { 'isthmus_ready{node="net-1"}': '0x3 1x5' },
    fires: [],
  },
  ...gauge('IsthmusControlStuck', 'isthmus_control_loop_lag_seconds', ['20+60x8', '0.002x8'], '5m'),
  ...gauge('IsthmusKubernetesUnheard', 'isthmus_kubernetes_stale_seconds', ['0+60x8', '0+10x8'], '7m'),
  ...gauge('IsthmusLeaseNotHeld', 'isthmus_kubernetes_lease_held', ['0x8', '1x8'], '7m'),
  ...gauge('IsthmusMassDeleteStopped', 'isthmus_mass_delete_stopped', ['1x8', '0x8'], '3m'),
  ...gauge('IsthmusProblems', 'isthmus_problems', ['3x20', '0x20'], '17m', '3'),
  {
    ...{ alert: 'IsthmusDialsFail', when: 'every second connection meets a dead backend', at: '17m' },
    series: { [FAILED]: '0+30x20', [SERVED]: '0+60x20' },
    fires: [whole('net-1')],
  },
  {
    ...{ alert: 'IsthmusDialsFail', when: 'one connection in ten meets a dead backend', at: '17m' },
    series: { [FAILED]: '0+6x20', [SERVED]: '0+60x20' },
    fires: [],
  },
  {
    ...{
      alert: 'IsthmusDialsFail',
      when: 'the failing connections are on another node',
      at: '17m',
    },
    series: {
      [FAILED]: '0+30x20',
      [SERVED]: '0+60x20',
      [`${ENDED}{node="net-2",outcome="finished",reason="finished"}`]: '0+6000x20',
    },
    fires: [whole('net-1')],
  },
  {
    ...{ alert: 'IsthmusDialsFail', when: 'there are no connections', at: '17m' },
    series: { [FAILED]: '7x20', [SERVED]: '60x20' },
    fires: [],
  },
  ...gauge('IsthmusConnectionsNearLimit', 'isthmus_connections', ['7000x8', '6000x8'], '7m', '7000'),
  // Every limit of the engine, by the reason in the connection record.
  ...(
    [
      ['refused-connections', 'refused-connections'],
      ['refused-descriptors', 'refused-descriptors'],
      ['refused-dials', 'refused-dials'],
      ['refused-hello-memory', 'refused-hello-memory'],
      ['refused-share', 'cluster-connections'],
      ['refused-share', 'listener-connections'],
    ] as const
  ).map(([outcome, reason]) => ({
    ...{ alert: 'IsthmusRefuses', when: `clients are refused: ${reason}`, at: '12m' },
    series: {
      [`${ENDED}{node="net-1",outcome="${outcome}",reason="${reason}"}`]: '0+1x20',
      [SERVED]: '0+60x20',
    },
    fires: [{ labels: { node: 'net-1', reason } }],
  })),
  {
    ...{
      alert: 'IsthmusRefuses',
      when: 'clients were refused an hour ago, and unknown names are refused now',
      at: '70m',
    },
    series: {
      [`${ENDED}{node="net-1",outcome="refused-share",reason="cluster-connections"}`]: '0+1x5 5x70',
      [`${ENDED}{node="net-1",outcome="alert-sent",reason="unknown-server-name"}`]: '0+9x80',
    },
    fires: [],
  },
];
