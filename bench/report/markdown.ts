// The result as Markdown. Whoever is disqualified by correctness appears in that table and in no other.
import { SCENARIOS } from '../scenarios/all.ts';
import type { Verdict } from './goals.ts';
import { cellsOf } from './ratios.ts';
import type { Report } from './report.ts';

function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows].join('\n');

function goalRow({ title, kind, must, aim, measured, againstBest, verdict, missedBy }: Verdict): string {
  const sign = kind === 'most' ? '≤' : '≥';
  const seen =
    measured === null
      ? '–'
      : `**${number(measured.median)}** [${number(measured.q1)}, ${number(measured.q3)}]`;
  const words = {
    aim: 'reaches the aim',
    must: 'met',
    missed: `missed by ${number(missedBy * 100)} %`,
    disturbed: 'the machine was disturbed: **not judged**',
    'not measured': 'not measured',
  };
  const other = againstBest === null ? '–' : `${number(againstBest.ratio.median)} (${againstBest.peer})`;
  return row(title, seen, other, `${sign} ${number(must)}`, `${sign} ${number(aim)}`, words[verdict]);
}

function scenarioSection(report: Report, name: string): string[] {
  const result = report.results.find((each) => each.name === name);
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (result === undefined || scenario === undefined) return [];
  const lines = [`## ${scenario.title}`, ''];
  const names = [...new Set(result.rounds.flatMap(({ measurements }) => Object.keys(measurements)))].sort();
  const rows = scenario.metrics.map((metric) => {
    const cells = cellsOf(result, metric);
    const shown = names.map((participant) => {
      const cell = cells.find((each) => each.participant === participant);
      if (cell === undefined) return '–';
      const { ratio } = cell;
      const compared =
        ratio.count === 0 ||
        participant.startsWith('haproxy@') ||
        participant === 'haproxy' ||
        !Number.isFinite(ratio.median)
          ? ''
          : ` = **${number(ratio.median)}** [${number(ratio.q1)}, ${number(ratio.q3)}]`;
      return `${number(cell.median)}${compared}`;
    });
    return row(`${metric.title}${metric.unit === '' ? '' : `, ${metric.unit}`}`, ...shown);
  });
  lines.push(table(['', ...names], rows), '');
  const disturbed = result.rounds.reduce((sum, round) => sum + round.disturbed.length, 0);
  const facts = Object.entries(result.facts).map(([key, value]) => `${key} ${number(value)}`);
  lines.push(
    [
      `${result.rounds.length} rounds`,
      `${result.repeated} disturbed measurements repeated`,
      `${disturbed} stayed disturbed`,
      ...facts,
    ].join(', '),
    '',
  );
  for (const [peer, reason] of Object.entries(result.failures))
    lines.push(`- ${peer}: **no result**, ${reason}`);
  return [...lines, ''];
}

function correctnessSection(report: Report): string[] {
  const names = report.correctness[0]?.cases.map(({ name }) => name) ?? [];
  const all = [
    ...new Set([...names, ...report.correctness.flatMap(({ cases }) => cases.map(({ name }) => name))]),
  ];
  const rows = all.map((name) =>
    row(
      name,
      ...report.correctness.map(({ cases }) => {
        const found = cases.find((each) => each.name === name);
        return found === undefined ? '–' : found.problem === '' ? '✓' : `✗ ${found.problem}`;
      }),
    ),
  );
  const out = report.correctness.filter(({ disqualified }) => disqualified !== null);
  return [
    '## Correctness',
    '',
    table(['case', ...report.correctness.map(({ peer }) => peer)], rows),
    '',
    ...out.map(({ peer, disqualified }) => `- **${peer} has no results below**: ${disqualified}`),
    '',
  ];
}

export function goalTable(goals: readonly Verdict[]): string {
  return table(
    ['goal (isthmus-native)', 'measured', 'against the HAProxy that does best here', 'must', 'aim', ''],
    goals.map(goalRow),
  );
}

export function markdown(report: Report): string {
  const { machine } = report;
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  return [
    '# Benchmark',
    '',
    `${machine.date}, commit ${machine.commit}, Node ${machine.node}, kernel ${machine.kernel}, ${machine.cores} × ${machine.cpu}, ${machine.memoryGb} GB, ${machine.hypervisor}, steal since boot ${percent(machine.stealSinceBoot)}, load average ${machine.loadAverage.map((each) => each.toFixed(1)).join(' ')}; in the namespaces ${Object.entries(
      machine.settings,
    )
      .map(([key, value]) => `${key}=${value}`)
      .join(', ')} (host: ${machine.hostCongestionControl}).`,
    '',
    `Each cell: the median, and where it says so **the median of same-round ratios to HAProxy** with its quartiles; above 1 is better than HAProxy, whatever the metric. Rounds of ${report.seconds} s, peers in random order. [How it is measured, and what not to conclude](../README.md).`,
    '',
    '![Ratios to HAProxy](throughput.svg)',
    '',
    '![Latency distribution](latency.svg)',
    '',
    '## Goals',
    '',
    goalTable(report.goals),
    '',
    '## Peers',
    '',
    table(
      ['peer', 'version', 'backend', ''],
      report.peers.map(({ name, version, entersNetns, problem }) =>
        row(
          name,
          version,
          entersNetns ? 'in a netns' : 'on loopback',
          problem === null ? '' : `**${problem}**`,
        ),
      ),
    ),
    '',
    ...correctnessSection(report),
    ...SCENARIOS.flatMap(({ name }) => scenarioSection(report, name)),
  ].join('\n');
}
