// Measures what one idle instance costs: API requests, memory and CPU time.
import { readFileSync } from 'node:fs';
import { Management } from '../../test/support/kubernetes/management.ts';
import { until } from '../../test/support/tcp.ts';
import type { Row } from './row.ts';
import { Tenant } from './tenant.ts';

const READS = /^(get|list|watch) /;
const SECONDS = 60;
/** A real API server sends bookmarks at this interval. */
const BOOKMARK_MS = 60_000;

export async function atRest(clusters: number, say: (text: string) => void): Promise<readonly Row[]> {
  const tenant = new Tenant(clusters);
  await tenant.open();
  const management = await Management.start({ bookmarkIntervalMs: BOOKMARK_MS });
  try {
    for (let i = 1; i <= clusters; i += 1) tenant.addTo(management, i);
    const isthmus = management.instance('net-1');
    isthmus.logLevel = 'info';
    await isthmus.start('--advertise-address', '192.0.2.1');
    await until('all are published', () => management.slices().length === clusters, 60_000);
    const isRewritten = (i: number) => management.kubeconfig(`cluster-${i}`).includes('.magnum-system:6443');
    await until('all kubeconfigs lead here', () => isRewritten(clusters), 60_000);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    say(`at rest with ${clusters} clusters, for ${SECONDS} s`);
    const before = management.requestsOf('net-1');
    const cpuBefore = cpuMs(isthmus.pid);
    await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
    const after = management.requestsOf('net-1');
    const cpu = (cpuMs(isthmus.pid) - cpuBefore) / (SECONDS * 10);
    const count = (condition: (what: string) => boolean) =>
      Object.keys(after)
        .filter(condition)
        .reduce((sum, what) => sum + (after[what] ?? 0) - (before[what] ?? 0), 0);
    const all = count(() => true);
    const writes = count((what) => !READS.test(what));
    const rss = rssMb(isthmus.pid);
    const upstream: Record<number, [calls: string, writes: string]> = {
      10: ['264', '60'],
      50: ['1020', '250'],
    };
    const [calls, written] = upstream[clusters] ?? ['–', '–'];
    return [
      {
        what: `API calls a minute at rest, ${clusters} clusters`,
        upstream: calls,
        goal: '≤ 12 + open watches',
        measured: `${all} (${management.api.openWatches} watches open)`,
        met: all <= 12 + management.api.openWatches,
      },
      {
        what: 'writes among these calls',
        upstream: written,
        goal: '≤ 6',
        measured: String(writes),
        met: writes <= 6,
      },
      {
        what: `memory, CPU idle, ${clusters} clusters`,
        upstream: clusters === 50 ? '186 MB, 7.3 %' : '–',
        goal: '≤ 110 MB, ≤ 1 %',
        measured: `${rss.toFixed(0)} MB, ${cpu.toFixed(2)} %`,
        met: rss <= 110 && cpu <= 1,
      },
    ];
  } finally {
    await management.stop();
    await tenant.close();
  }
}

/** User and system time of all threads. The kernel counts in hundredths of a second. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export function rssMb(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1]) / 1000;
}
