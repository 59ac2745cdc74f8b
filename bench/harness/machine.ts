// The facts about the machine that a reader needs to interpret a result.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { NETNS_SETTINGS } from './site.ts';
import { root } from './tools.ts';

export interface BenchMachine {
  readonly date: string;
  readonly kernel: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly hypervisor: string;
  readonly loadAverage: readonly number[];
  /** The share of CPU time that the host has taken since boot. */
  readonly stealSinceBoot: number;
  readonly node: string;
  readonly commit: string;
  readonly hostCongestionControl: string;
  readonly settings: Readonly<Record<string, string>>;
}

/** One line for the report: when, which code, which machine. */
export function machineText(machine: BenchMachine): string {
  const { date, commit, node, kernel, cores, cpu, memoryGb, hypervisor, stealSinceBoot, loadAverage } =
    machine;
  const loads = loadAverage.map((each) => each.toFixed(1)).join(' ');
  return (
    `${date}, commit ${commit}, Node ${node}, kernel ${kernel}, ${cores} × ${cpu}, ${memoryGb} GB, ${hypervisor}, ` +
    `steal since boot ${(stealSinceBoot * 100).toFixed(1)} %, load average ${loads}`
  );
}

function said(command: string, ...args: string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

export function machineFacts(): BenchMachine {
  const stat = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.trim().split(/\s+/).slice(1).map(Number);
  const total = stat.slice(0, 8).reduce((sum, each) => sum + each, 0);
  const dirty =
    said('git', '-C', root, 'status', '--porcelain', '--untracked-files=no') === '' ? '' : ' (modified)';
  return {
    date: new Date().toISOString(),
    kernel: said('uname', '-r').split('.', 2).join('.'), // the build number does not help a reader
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    hypervisor: said('systemd-detect-virt'),
    loadAverage: loadavg(),
    stealSinceBoot: stat[7]! / total,
    node: process.version,
    commit: `${said('git', '-C', root, 'rev-parse', '--short', 'HEAD')}${dirty}`,
    hostCongestionControl: process.env.BENCH_HOST_CONGESTION_CONTROL ?? 'unknown',
    settings: NETNS_SETTINGS,
  };
}
