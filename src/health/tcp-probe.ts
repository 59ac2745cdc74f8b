// The default check: does the backend's kernel answer our SYN? The addon asks, on a thread of its own (native/prober/prober.cc, which
// also says how that stays out of the backend's log): its deadline, and the silence, hold while JavaScript is busy.
import type { NativeAddon, NativeProber } from '../netns/native.ts';
import type { HealthSettings } from './health-settings.ts';
import type { Probe, ProbeOutcome, ProbeTarget } from './probe.ts';

interface Running {
  readonly ended: (outcome: ProbeOutcome) => void;
  canceled: boolean;
}

/** What this cannot see is a program that hangs behind a listening socket (until its accept queue is full): `--health tls` does. */
export class TcpProbe implements Probe {
  readonly #prober: NativeProber;
  readonly #running: (Running | null)[];
  readonly #free: number[];

  /** At most `maxConcurrent` may be under way: to start one more is a bug of the caller, and throws. */
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
    const running: Running = { ended, canceled: false };
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
    const code = running.canceled ? 'ECANCELED' : error; // it may have passed before it could be called off
    running.ended({ ok: code === null, error: code, durationMs });
  }
}
