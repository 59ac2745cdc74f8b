// `npm run bench`, inside its sandbox: tests correctness, runs the scenarios, then writes the report.
import { spawnSync } from 'node:child_process';
import { Load } from './harness/load.ts';
import { machineFacts } from './harness/machine.ts';
import { HELP, readOptions } from './harness/options.ts';
import { LOAD_CORE, PROXY_CORE, spawnPinned } from './harness/processes.ts';
import { Progress } from './harness/progress.ts';
import { runScenario, type ScenarioResult } from './harness/runner.ts';
import { grouped, openStage, participantsOf, type Stage } from './harness/stage.ts';
import { readTools } from './harness/tools.ts';
import { chosenPeers } from './peers/chosen.ts';
import type { PeerProgram } from './peers/peer.ts';
import { checkOf } from './report/check.ts';
import { markdown } from './report/markdown.ts';
import type { PeerFacts, Report } from './report/report.ts';
import { verdicts } from './report/verdicts.ts';
import { writeReport } from './report/write.ts';
import { SCENARIOS } from './scenarios/all.ts';
import { type Correctness, testCorrectness } from './scenarios/correctness.ts';
import { ONE_ROUTE, type Scenario } from './scenarios/scenario.ts';

const options = readOptions(process.argv.slice(2));
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
const tools = readTools();
const { peers, missing } = chosenPeers(options, tools);
const scenarios = SCENARIOS.filter(({ name }) => options.scenarios.includes(name));
const timing = { seconds: options.seconds, warmup: options.warmup };
const machine = machineFacts();

// The harness runs on the core of the load generator. `spin` keeps both cores awake.
spawnSync('taskset', ['-a', '-p', '-c', LOAD_CORE, String(process.pid)]);
for (const core of [LOAD_CORE, PROXY_CORE]) spawnPinned(core, tools.load, ['spin', '--seconds', '14400']);

const roundsOf = (scenario: Scenario): number => scenario.rounds?.(options.rounds) ?? options.rounds;
const planned = (scenario: Scenario): number =>
  roundsOf(scenario) *
  participantsOf(scenario, peers, { part: () => undefined } as never).length *
  (scenario.seconds(timing) + 0.1);
const progress = new Progress(scenarios.reduce((sum, each) => sum + planned(each), 20 + 4 * peers.length));

const correctness: Correctness[] = [];
const results: ScenarioResult[] = [];
const problems = new Map(missing);
for (const [name, reason] of missing) progress.say(`✗ ${name}: ${reason}`);

async function testAll(stage: Stage): Promise<void> {
  const load = new Load(tools.load);
  for (const peer of stage.running.values()) {
    progress.at('correctness', peer.name);
    const outcome = await testCorrectness(peer, load, stage.site);
    correctness.push(outcome);
    if (outcome.disqualified !== null) {
      progress.say(`✗ ${peer.name} has no results: ${outcome.disqualified}`);
      await peer.stop();
    }
    progress.done(4);
  }
}

const isQualified = ({ name }: PeerProgram): boolean =>
  correctness.some(({ peer, disqualified }) => peer === name && disqualified === null);

const groups = grouped(scenarios);
const isFirst = ([needs]: (typeof groups)[number]): boolean =>
  JSON.stringify(needs) === JSON.stringify(ONE_ROUTE);
groups.sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
if (groups.length === 0 || !isFirst(groups[0]!)) groups.unshift([ONE_ROUTE, []]);
for (const [needs, wanted] of groups) {
  const isTested = correctness.length > 0;
  const able = isTested ? peers.filter(isQualified) : peers;
  // Scenarios that start their own peers need none here. The first site always has peers, because it tests correctness.
  const isEmpty = isTested && wanted.every(({ fresh }) => fresh === true);
  const stage = await openStage(needs, isEmpty ? [] : able, tools.load, progress);
  for (const [name, reason] of stage.problems) problems.set(name, reason);
  if (correctness.length === 0) await testAll(stage);
  const load = new Load(tools.load, needs.threads > 1 ? `${LOAD_CORE},${PROXY_CORE}` : LOAD_CORE);
  for (const scenario of wanted) {
    const taking = able.filter((peer) => isQualified(peer) && !stage.problems.has(peer.name));
    const participants = participantsOf(scenario, taking, stage.site);
    const running = new Map([...stage.running].filter(([name]) => taking.some((peer) => peer.name === name)));
    const result = await runScenario(scenario, stage.site, participants, running, {
      load,
      timing,
      rounds: roundsOf(scenario),
      patience: options.patience,
      progress,
    });
    for (const [name, reason] of Object.entries(result.failures))
      progress.say(`✗ ${scenario.name}: ${name}: ${reason}`);
    results.push(result);
  }
  await stage.close();
}

const versionOf = (peer: PeerProgram): string => {
  try {
    return peer.version();
  } catch {
    return 'unknown';
  }
};
const facts: PeerFacts[] = [
  ...peers.map((peer) => ({
    name: peer.name,
    version: versionOf(peer),
    entersNetns: peer.entersNetns,
    problem: problems.get(peer.name) ?? null,
  })),
  ...[...missing].map(([name, problem]) => ({ name, version: '–', entersNetns: false, problem })),
];
const absent = new Map(problems);
for (const { peer, disqualified } of correctness) if (disqualified !== null) absent.set(peer, disqualified);
const report: Report = {
  machine,
  command: process.argv.slice(2),
  rounds: options.rounds,
  seconds: options.seconds,
  peers: facts,
  correctness,
  results,
  goals: verdicts(results, SCENARIOS, absent),
};
const { directory, partial } = writeReport(report);
progress.say('');
console.log(`${markdown(report)}\n`);
const check = checkOf(report.goals, correctness);
if (options.check) for (const line of check.lines) console.log(line);
console.log(
  `Written to ${directory}${partial === null ? ' and README.md' : `, not to bench/results and README.md: ${partial}`}`,
);
process.exit(options.check && !check.passes ? 1 : 0);
