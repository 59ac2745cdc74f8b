import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { serviceSettings } from '../../src/cli/service-settings.ts';
import { parseEnvironmentFile, readSettingsFile } from '../../src/cli/settings-file.ts';
import { ENVIRONMENT_FILES } from '../systemd/environment-files.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-settings-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each(ENVIRONMENT_FILES)(
  'the parser reads $title as systemd does',
  ({ text, settings, ignored = [] }) => {
    expect(parseEnvironmentFile(text)).toEqual({ settings, ignored });
  },
);

test('a missing settings file is empty; one that cannot be read, and a line without a setting, are warnings', () => {
  expect(readSettingsFile(join(directory, 'none'))).toEqual({ settings: {}, warnings: [] });
  mkdirSync(join(directory, 'directory'));
  expect(readSettingsFile(join(directory, 'directory')).warnings).toEqual([
    expect.stringMatching(/directory cannot be read \(EISDIR\): its settings are not checked$/),
  ]);
  const path = join(directory, 'file');
  writeFileSync(path, 'KUBECONFIG=/k\nlisten 6443\n');
  expect(readSettingsFile(path)).toEqual({
    settings: { KUBECONFIG: '/k' },
    warnings: [`${path}: "listen 6443" is not <name>=<value>: systemd ignores it`],
  });
});

test('the flags of a first process win over the settings file, and both are named', () => {
  const file = { settings: { ISTHMUS_ADMIN: '1', KUBECONFIG: '/k' }, warnings: [] };
  expect(serviceSettings(file, { ISTHMUS_ADMIN: '2' })).toEqual({
    settings: { ISTHMUS_ADMIN: '2', KUBECONFIG: '/k' },
    sources: [
      'the settings of /etc/default/isthmus (ISTHMUS_ADMIN, KUBECONFIG)',
      'the flags of process 1 of this container (ISTHMUS_ADMIN)',
    ],
    warnings: [],
  });
  expect(serviceSettings({ settings: {}, warnings: [] }, {}).sources).toEqual([]);
});
