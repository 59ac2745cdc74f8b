// Detects whether other work disturbed a measurement. Steal is CPU time that the host took. Foreign is CPU time of processes outside
// the sandbox, and of peers that should be idle while another peer is measured.
import { readdirSync, readFileSync } from 'node:fs';

export interface Disturbance {
  /** Shares of all CPU time of the machine, 0 to 1. */
  readonly steal: number;
  readonly foreign: number;
}

/** Above these limits, a measurement is repeated. A tick is 10 ms, so one second on two cores resolves about 1 %. */
export const LIMITS: Disturbance = { steal: 0.02, foreign: 0.03 };

interface Ticks {
  readonly total: number;
  readonly busy: number;
  readonly steal: number;
  readonly own: number;
}

function ticks(others: ReadonlySet<number>): Ticks {
  const [user, nice, system, idle, iowait, irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number) as [number, number, number, number, number, number, number, number];
  const busy = user + nice + system + irq + softirq;
  return { total: busy + idle + iowait + steal, busy, steal, own: ownTicks(others) };
}

/** The sandbox has its own PID namespace, so /proc shows only its processes. A parent's sums include its dead children. */
function ownTicks(others: ReadonlySet<number>): number {
  let sum = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || others.has(Number(pid))) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      for (const index of [11, 12, 13, 14]) sum += Number(fields[index]);
    } catch {
      // the process exited during the scan
    }
  }
  return sum;
}

/** Starts to watch. The returned function reports the disturbance since then. `others` are processes that should be idle. */
export function watchMachine(others: ReadonlySet<number>): () => Disturbance {
  const before = ticks(others);
  return () => {
    const after = ticks(others);
    const total = Math.max(1, after.total - before.total);
    const foreign = after.busy - before.busy - (after.own - before.own);
    return { steal: (after.steal - before.steal) / total, foreign: Math.max(0, foreign) / total };
  };
}

export const isDisturbed = (seen: Disturbance): boolean =>
  seen.steal > LIMITS.steal || seen.foreign > LIMITS.foreign;
