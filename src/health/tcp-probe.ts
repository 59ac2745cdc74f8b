// The default check: the backend's kernel answers our SYN. The addon probes on its own thread, so the deadline holds while JavaScript
// is busy. The backend does not log the probe (native/prober/prober.cc explains how).
import type { NativeAddon, NativeProber } from '../netns/native.ts';
import type { HealthSettings } from './health-settings.ts';
import type { Probe, ProbeOutcome, ProbeTarget } from './probe.ts';

interface RunningProbe {
  readonly ended: (outcome: ProbeOutcome) => void;
  canceled: boolean;
}

/** A program that hangs behind its listening socket passes this check until its accept queue is full. `--health tls` detects it. */
export class TcpProbe implements Probe {
  readonly #prober: NativeProber;
  readonly #running: (RunningProbe | null)[];
  readonly #free: number[];

  /** At most `maxConcurrent` probes may run. Starting one more is a bug in the caller, and throws. */
  constructor(
    addon: Pick<NativeAddon, 'createProber'>,
    settings: Pick<HealthSettings, 'timeoutMs' | 'maxConcurrent'>,
  ) {
    const { timeoutMs, maxConcurrent } = settings;
    this.#running = Array.from({ length: maxConcurrent }, () => null);
    this.#free = Array.from(this.#running.keys()).reverse();
    this.#prober = addon.createProber({ timeoutMs, most: maxConcurrent }, (place, error, durationMs) =>
      this.#ended(place, error, durationMs),
    );
  }

  start({ netns, address, port }: ProbeTarget, ended: (outcome: ProbeOutcome) => void): () => void {
    const place = this.#free.pop();
    if (place === undefined) throw new Error(`${this.#running.length} probes are under way already`);
    const running: RunningProbe = { ended, canceled: false };
    this.#running[place] = running;
    this.#prober.start(place, netns?.path ?? null, netns?.identity ?? null, address, port);
    return () => {
      if (running.canceled || this.#running[place] !== running) return;
      running.canceled = true;
      this.#prober.cancel(place);
    };
  }

  close(): void {
    this.#prober.stop();
  }

  #ended(place: number, error: string | null, durationMs: number): void {
    const running = this.#running[place];
    this.#running[place] = null;
    this.#free.push(place);
    if (running == null) return;
    const code = running.canceled ? 'ECANCELED' : error; // the probe can pass just before the cancel
    running.ended({ ok: code === null, error: code, durationMs });
  }
}
