// The metrics of the process itself, under the usual names of Node dashboards. Each is read only when Prometheus scrapes: metrics with
// a timer or an observer (histograms of event loop delay and garbage collection) would wake an idle process.
import addHeapSize from 'prom-client/lib/metrics/heapSizeAndUsed.js';
import addMemory from 'prom-client/lib/metrics/osMemoryHeap.js';
import addMaxDescriptors from 'prom-client/lib/metrics/processMaxFileDescriptors.js';
import addOpenDescriptors from 'prom-client/lib/metrics/processOpenFileDescriptors.js';
import addStartTime from 'prom-client/lib/metrics/processStartTime.js';
import addVersion from 'prom-client/lib/metrics/version.js';
import { Counter, Gauge, type Registry } from './prometheus.ts';

export function addProcessMetrics(registry: Registry): void {
  addMemory(registry);
  addHeapSize(registry);
  addOpenDescriptors(registry);
  addMaxDescriptors(registry);
  addStartTime(registry);
  addVersion(registry);
  const registers = [registry];
  // prom-client's own CPU metrics would load OpenTelemetry.
  const cpu = (name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(microseconds(process.cpuUsage()) / 1e6);
      },
    });
  cpu('process_cpu_user_seconds_total', 'CPU time spent in user space', ({ user }) => user);
  cpu('process_cpu_system_seconds_total', 'CPU time spent in the kernel', ({ system }) => system);
  cpu('process_cpu_seconds_total', 'CPU time spent, all threads', ({ user, system }) => user + system);
  new Gauge({
    name: 'nodejs_eventloop_lag_seconds',
    help: 'For how long the main thread was busy when this was asked',
    registers,
    async collect() {
      const askedMs = performance.now();
      await new Promise((resolve) => setImmediate(resolve));
      this.set((performance.now() - askedMs) / 1000);
    },
  });
}
