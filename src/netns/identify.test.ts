import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { identify } from './identify.ts';
import type { NativeAddon, Netns } from './native.ts';

describe('a name in the netns directory', () => {
  let directory: string;
  let closed: number;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'isthmus-identify-'));
    closed = 0;
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const opening: Pick<NativeAddon, 'openNetns'> = {
    openNetns: (path) => ({ path, identity: 'cookie:7', close: () => closed++ }) as unknown as Netns,
  };
  const failing = (code: string, before = () => {}): Pick<NativeAddon, 'openNetns'> => ({
    openNetns: () => {
      before();
      throw Object.assign(new Error(`${code}: what the system said`), { code });
    },
  });
  const look = (addon: Pick<NativeAddon, 'openNetns'>) => {
    const [file] = readdirSync(directory, { withFileTypes: true });
    return identify(addon, join(directory, file!.name), file!);
  };

  test('is a netns with its identity, and the handle is closed again', () => {
    writeFileSync(join(directory, 'a'), '');
    expect(look(opening)).toEqual({ kind: 'netns', identity: 'cookie:7' });
    expect(closed).toBe(1);
  });

  test('may be a symbolic link', () => {
    symlinkSync('/proc/self/ns/net', join(directory, 'a'));
    expect(look(opening)).toEqual({ kind: 'netns', identity: 'cookie:7' });
  });

  test('is not opened when it is a directory', () => {
    mkdirSync(join(directory, 'a'));
    expect(look(opening)).toEqual({ kind: 'problem', reason: 'a directory, not a network namespace' });
    expect(closed).toBe(0);
  });

  test('counts as vanished when it is removed before it is opened', () => {
    writeFileSync(join(directory, 'a'), '');
    expect(look(failing('ENOENT', () => rmSync(join(directory, 'a'))))).toEqual({ kind: 'vanished' });
  });

  for (const [code, reason] of [
    [
      'ENOTNETNS',
      /^a plain file on which no network namespace is mounted: .*mountPropagation: HostToContainer/,
    ],
    [
      'EPERM',
      /^not permitted \(EPERM\): entering a network namespace needs CAP_SYS_ADMIN; .*what the system said$/,
    ],
    ['EACCES', /^not permitted \(EACCES\): entering a network namespace needs CAP_SYS_ADMIN/],
    ['EIO', /^cannot be opened: EIO: what the system said$/],
    ['EMFILE', /^cannot be opened: EMFILE: what the system said$/],
  ] as const) {
    test(`is a problem with a reason when opening it fails with ${code}`, () => {
      writeFileSync(join(directory, 'a'), '');
      expect(look(failing(code))).toEqual({ kind: 'problem', reason: expect.stringMatching(reason) });
    });
  }
});
