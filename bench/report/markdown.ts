// Renders the result as Markdown. A peer that fails correctness appears only in the correctness table.
import { machineText } from '../harness/machine.ts';
import { SCENARIOS } from '../scenarios/all.ts';
import { goalSection } from './goal-table.ts';
import { BASELINE, type Cell, cellsOf, participantsIn } from './ratios.ts';
import type { Report } from './report.ts';
import { number, row, table } from './table.ts';

/** Marks a number that includes disturbed measurements. The report uses a leading tilde for nothing else. */
const MARK = '~';

function shownCell({ participant, median, ratio, disturbed, ratioDisturbed }: Cell): string {
  const isBaseline = participant === BASELINE || participant.startsWith(`${BASELINE}@`);
  const value = `${disturbed ? MARK : ''}${number(median)}`;
  if (isBaseline || ratio === null || !Number.isFinite(ratio.median)) return value;
  const compared = `**${number(ratio.median)}** [${number(ratio.q1)}, ${number(ratio.q3)}]`;
  return `${value} = ${ratioDisturbed ? MARK : ''}${compared}`;
}

function scenarioSection(report: Report, name: string): string[] {
  const result = report.results.find((each) => each.name === name);
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (result === undefined || scenario === undefined) return [];
  const lines = [`## ${scenario.title}`, ''];
  const names = participantsIn(result);
  const rows = scenario.metrics.map((metric) => {
    const cells = cellsOf(result, metric);
    const shown = names.map((participant) => {
      const cell = cells.find((each) => each.participant === participant);
      return cell === undefined ? '–' : shownCell(cell);
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
  if (rows.some((each) => each.includes(MARK)))
    lines.push(`${MARK}: more than half of the measurements behind this number were disturbed.`, '');
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

export function markdown(report: Report): string {
  const { machine } = report;
  return [
    '# Benchmark',
    '',
    `${machineText(machine)}; in the namespaces ${Object.entries(machine.settings)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ')} (host: ${machine.hostCongestionControl}).`,
    '',
    `Each cell shows the median of the rounds. After \`=\` follows **the median of same-round ratios to HAProxy** with its quartiles; above 1 is better than HAProxy, for every metric. ${report.rounds} rounds of ${report.seconds} s, peers in random order. [How it is measured, and what not to conclude](../README.md).`,
    '',
    '![Ratios to HAProxy](throughput.svg)',
    '',
    '![Latency distribution](latency.svg)',
    '',
    '## Goals',
    '',
    goalSection(report.goals),
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
