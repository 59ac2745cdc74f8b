// The metrics of the process itself, under the usual names of Node dashboards. Each is read only when Prometheus scrapes. Metrics with
// a timer or an observer, such as histograms of event loop delay and garbage collection, would wake an idle process.
import { readdirSync, readFileSync } from 'node:fs';
import { type Metric, type Sample, single } from './metric-registry.ts';

const STARTED_S = Math.round(Date.now() / 1000 - process.uptime());

export function processMetrics(): Metric[] {
  const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');
  return [
    fromProc('process_resident_memory_bytes', 'Resident memory size in bytes.', () => statusBytes('VmRSS')),
    fromProc('process_virtual_memory_bytes', 'Virtual memory size in bytes.', () => statusBytes('VmSize')),
    fromProc('process_heap_bytes', 'Process heap size in bytes.', () => statusBytes('VmData')),
    memory('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', 'heapTotal'),
    memory('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', 'heapUsed'),
    memory('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', 'external'),
    // One entry is the descriptor that reads the directory.
    fromProc(
      'process_open_fds',
      'Number of open file descriptors.',
      () => readdirSync('/proc/self/fd').length - 1,
    ),
    fromProc('process_max_fds', 'Maximum number of open file descriptors.', () =>
      numberIn('/proc/self/limits', /^Max open files +(\d+)/m),
    ),
    single(
      'gauge',
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      () => STARTED_S,
    ),
    {
      name: 'nodejs_version_info',
      type: 'gauge',
      help: 'Node.js version info.',
      labelNames: ['version', 'major', 'minor', 'patch'],
      samples: () => [[1, { version: process.version, major, minor, patch }]],
    },
    cpu('process_cpu_user_seconds_total', 'CPU time spent in user space', ({ user }) => user),
    cpu('process_cpu_system_seconds_total', 'CPU time spent in the kernel', ({ system }) => system),
    cpu('process_cpu_seconds_total', 'CPU time spent, all threads', ({ user, system }) => user + system),
    {
      name: 'nodejs_eventloop_lag_seconds',
      type: 'gauge',
      help: 'How long the main thread was busy at the time of the scrape',
      samples: eventLoopLag,
    },
  ];
}

/** Has no sample if /proc cannot be read: a process without a free descriptor cannot open it, and its other metrics matter then. */
const fromProc = (name: string, help: string, read: () => number): Metric => ({
  name,
  type: 'gauge',
  help,
  samples: () => {
    try {
      return [[read()]];
    } catch {
      return [];
    }
  },
});

const memory = (name: string, help: string, part: 'heapTotal' | 'heapUsed' | 'external'): Metric =>
  single('gauge', name, help, () => process.memoryUsage()[part]);

const cpu = (name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number): Metric =>
  single('counter', name, help, () => microseconds(process.cpuUsage()) / 1e6);

const statusBytes = (field: string): number =>
  numberIn('/proc/self/status', new RegExp(`^${field}:\\s+(\\d+) kB`, 'm')) * 1024;

function numberIn(file: string, pattern: RegExp): number {
  const found = pattern.exec(readFileSync(file, 'utf8'));
  if (found === null) throw new Error(`${file} has no line like ${pattern}`);
  return Number(found[1]);
}

async function eventLoopLag(): Promise<Sample[]> {
  const askedMs = performance.now();
  await new Promise((resolve) => setImmediate(resolve));
  return [[(performance.now() - askedMs) / 1000]];
}
