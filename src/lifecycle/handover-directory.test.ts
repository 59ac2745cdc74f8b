import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requirePrivateDirectory } from './handover-directory.ts';

let directory: string;
const uid = process.getuid?.() ?? 0;
const mode = (path: string) => statSync(path).mode & 0o777;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-private-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a missing directory is created, readable by its user only', () => {
  requirePrivateDirectory(join(directory, 'new'), uid);
  expect(mode(join(directory, 'new'))).toBe(0o700);
});

test('a public directory with our own sockets becomes private', () => {
  chmodSync(directory, 0o755);
  for (const name of ['handover.sock', 'lease-0a1b2c3d-0a1b2c3d']) writeFileSync(join(directory, name), '');
  requirePrivateDirectory(directory, uid);
  expect(mode(directory)).toBe(0o700);
});

test('a public directory with files of other programs, such as /run, is rejected and keeps its mode', () => {
  chmodSync(directory, 0o755);
  mkdirSync(join(directory, 'systemd'));
  expect(() => requirePrivateDirectory(directory, uid, '--lock-dir')).toThrow(
    /^--lock-dir .*: it also contains systemd; name a directory for Isthmus alone/,
  );
  expect(mode(directory)).toBe(0o755);
});
