// A probe as /status shows it. Pure.
import type { ProbeResult } from '../../health/target-health.ts';

export interface ProbeView {
  readonly at: string;
  readonly ok: boolean;
  readonly durationMs: number;
  readonly error: string | null;
}

export function probeView(probe: ProbeResult | null): ProbeView | null {
  if (probe === null) return null;
  const { atMs, ok, durationMs, error } = probe;
  return { at: isoTime(atMs), ok, durationMs: Math.round(durationMs * 10) / 10, error };
}

export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
