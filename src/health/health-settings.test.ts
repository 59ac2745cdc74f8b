import { expect, test } from 'vitest';
import { DEFAULT_HEALTH_SETTINGS, healthSettings } from './health-settings.ts';

test('what is chosen goes before the defaults', () => {
  expect(healthSettings({})).toEqual(DEFAULT_HEALTH_SETTINGS);
  expect(healthSettings({ intervalMs: 7000 })).toEqual({ ...DEFAULT_HEALTH_SETTINGS, intervalMs: 7000 });
});

test('first checks by TLS are no more frequent than later ones', () => {
  expect(healthSettings({ kind: 'tls' }).maxFirstProbesPerSecond).toBe(200);
});
