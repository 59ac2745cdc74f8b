// Was the machine ours while we measured? Steal is what the host took; foreign is what was used by processes outside of the
// sandbox, and by peers that should be idle because another one is being measured.
import { readdirSync, readFileSync } from 'node:fs';

export interface Disturbance {
  /** Shares of all CPU time of the machine, 0 to 1. */
  readonly steal: number;
  readonly foreign: number;
}

/** Above these, a round is repeated. A tick is 10 ms, so a round of a second on two cores resolves about 1 %. */
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

/** The sandbox has a PID namespace of its own: whoever is visible in /proc is ours, and the dead are in their parent's sums. */
function ownTicks(others: ReadonlySet<number>): number {
  let sum = 0;
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || others.has(Number(pid))) continue;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      for (const index of [11, 12, 13, 14]) sum += Number(fields[index]);
    } catch {
      // ended while we were looking
    }
  }
  return sum;
}

/** Starts to watch; the function it returns tells what happened since. `others`: processes that should be idle. */
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
