// Runs the load generator and parses its line of JSON. One function per mode.
import { LOAD_CORE, runPinned } from './processes.ts';

export interface Latency {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** [share, microseconds]… */
  readonly curve: readonly (readonly [number, number])[];
}

export interface ConnectionsResult {
  readonly completed: number;
  readonly total: number;
  readonly errors: number;
  readonly open: number;
  /** Open loop only: arrivals that never began because every slot was taken. `latency` and `lag` include their waiting time. */
  readonly unbegun: number;
  readonly perSecond: number;
  readonly latency: Latency;
  /** How late the generator started connections in the open loop. */
  readonly lag: Latency;
}

export interface RequestsResult {
  readonly completed: number;
  readonly errors: number;
  readonly perSecond: number;
  readonly latency: Latency;
  /** [milliseconds since 1970, requests done so far]…; empty unless requested. */
  readonly progress: readonly (readonly [number, number])[];
}

export interface BulkResult {
  readonly total: number;
  readonly errors: number;
  readonly gbPerSecond: number;
}

export interface CorrectnessResult {
  /** An empty `problem` means that the case passed. */
  readonly cases: readonly { readonly name: string; readonly problem: string }[];
}

export interface Timing {
  readonly seconds: number;
  readonly warmup: number;
}

/** The generator failed, so its measurement is unusable. */
export class LoadError extends Error {}

export class Load {
  readonly program: string;
  readonly #cores: string;
  constructor(program: string, cores: string = LOAD_CORE) {
    this.program = program;
    this.#cores = cores;
  }

  async #run<T>(mode: string, options: Record<string, string | number>, seconds: number): Promise<T> {
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const { code, stdout, stderr } = await runPinned(
      this.#cores,
      this.program,
      [mode, ...args],
      seconds + 30,
    );
    if (code !== 0) throw new LoadError(`${mode}: ${stderr.trim() || `exit code ${code}`}`);
    return JSON.parse(stdout) as T;
  }

  async connections(
    target: string,
    hello: string,
    timing: Timing,
    extra: { concurrency?: number; rate?: number } = {},
  ): Promise<ConnectionsResult> {
    const result = await this.#run<ConnectionsResult>(
      'connections',
      { target, hello, ...timing, ...extra },
      timing.seconds + timing.warmup,
    );
    if (result.errors > 0) throw new LoadError(`${result.errors} of ${result.total} connections failed`);
    return result;
  }

  async requests(
    target: string,
    hello: string,
    timing: Timing,
    connections: number,
    extra: { mayBreak?: boolean; tickMs?: number } = {},
  ): Promise<RequestsResult> {
    const result = await this.#run<RequestsResult>(
      'requests',
      { target, hello, ...timing, connections, tick: extra.tickMs ?? 0 },
      timing.seconds,
    );
    if (result.errors > 0 && extra.mayBreak !== true)
      throw new LoadError(`${result.errors} kept connections broke`);
    return result;
  }

  async bulk(
    target: string,
    hello: string,
    timing: Timing,
    direction: 'down' | 'up',
    connections: number,
  ): Promise<BulkResult> {
    const result = await this.#run<BulkResult>(
      'bulk',
      { target, hello, ...timing, direction, connections },
      timing.seconds,
    );
    if (result.errors > 0) throw new LoadError(`${result.errors} bulk connections broke`);
    return result;
  }

  correctness(
    target: string,
    hellos: { hello: string; large: string; unknown: string },
  ): Promise<CorrectnessResult> {
    const { hello, large, unknown } = hellos;
    return this.#run('correctness', { target, hello, 'large-hello': large, 'unknown-hello': unknown }, 120);
  }
}
