import { expect, test } from 'vitest';
import { DEFAULT_HEALTH_SETTINGS, healthSettings } from './health-settings.ts';

test('chosen settings override the defaults', () => {
  expect(healthSettings({})).toEqual(DEFAULT_HEALTH_SETTINGS);
  expect(healthSettings({ intervalMs: 7000 })).toEqual({ ...DEFAULT_HEALTH_SETTINGS, intervalMs: 7000 });
});

test('first TLS checks have the same rate as later ones', () => {
  expect(healthSettings({ kind: 'tls' }).maxFirstProbesPerSecond).toBe(200);
});
