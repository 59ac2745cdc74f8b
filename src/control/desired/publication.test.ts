import { expect, test } from 'vitest';
import type { TargetHealth } from '../../health/target-health.ts';
import { type Publication, wantOf } from './publication.ts';

const probed = (up: boolean, ok: boolean | null): TargetHealth => ({
  up,
  sinceMs: 0,
  lastProbe: ok === null ? null : { atMs: 0, ok, durationMs: 1, error: null },
});
const UP = probed(true, true);
const DOWN = probed(false, false);

type Backends = readonly (TargetHealth | null | undefined)[];

test.each<[want: Publication['want'], reason: string, backends: Backends]>([
  ['live', 'one backend is up', [DOWN, null, UP]],
  ['live', 'a backend is up although its last probe failed', [probed(true, false)]],
  ['down', 'all backends are known to be down', [DOWN, DOWN]],
  ['down', 'there is no backend', []],
  ['undecided', 'a backend was never probed', [DOWN, null]],
  ['undecided', 'a backend is not known to the health checks', [DOWN, undefined]],
  ['undecided', 'the first probe of a backend is under way', [DOWN, probed(false, null)]],
  ['undecided', 'a backend is not up yet, but its last probe passed', [probed(false, true), DOWN]],
])('a publication is %s if %s', (want, _reason, backends) => {
  expect(wantOf(backends)).toBe(want);
});
