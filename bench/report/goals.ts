// The project's goals as data. verdicts.ts judges them.

export interface Goal {
  readonly title: string;
  readonly scenario: string;
  readonly metric: string;
  readonly must: number;
  readonly aim: number;
  /** `ratio`: to HAProxy, above 1 is better. `most` and `least`: a limit for the value itself. `self`: 1000 netns compared with 1. */
  readonly kind: 'ratio' | 'most' | 'least' | 'self';
  /** Judged by the worst of all rounds, even disturbed ones, because a single occurrence is already a failure. */
  readonly byWorst?: true;
}

const ratio = (title: string, scenario: string, metric: string, must: number, aim: number): Goal => ({
  title,
  scenario,
  metric,
  must,
  aim,
  kind: 'ratio',
});

export const GOALS: readonly Goal[] = [
  ratio('new connections/s', 'new-connections', 'perSecond', 1.05, 1.25),
  ratio('connect→first byte p50 at half of HAProxy’s maximum', 'latency', 'p50', 1.0, 1.1),
  ratio('connect→first byte p99 at half of HAProxy’s maximum', 'latency', 'p99', 0.9, 1.1),
  ratio('small requests/s', 'requests', 'perSecond', 1.1, 1.2),
  ratio('bulk down, 16 connections', 'bulk', 'down16', 1.2, 1.5),
  ratio('bulk up, 16 connections', 'bulk', 'up16', 1.2, 1.5),
  ratio('bulk down at MTU-sized segments', 'bulk-mtu', 'down16', 1.0, 1.2),
  ratio('bulk up at MTU-sized segments', 'bulk-mtu', 'up16', 1.0, 1.2),
  ratio('KB per idle connection (HAProxy ÷ ours)', 'idle-memory', 'pss9000', 1 / 0.3, 1 / 0.05),
  {
    title: 'MB resident above a bare Node',
    scenario: 'baseline-memory',
    metric: 'above',
    must: 20,
    aim: 10,
    kind: 'most',
  },
  {
    title: '1000 namespaces against 1, new connections/s',
    scenario: 'namespaces',
    metric: 'perSecond',
    must: 0.95,
    aim: 1,
    kind: 'self',
  },
  {
    title: 'established connections broken by route changes',
    scenario: 'churn',
    metric: 'broken',
    must: 0,
    aim: 0,
    kind: 'most',
    byWorst: true,
  },
  {
    title: 'throughput of established connections while routes change',
    scenario: 'churn',
    metric: 'requests',
    must: 0.98,
    aim: 1,
    kind: 'least',
  },
];
