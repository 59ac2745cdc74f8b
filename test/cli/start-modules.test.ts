// Unneeded modules would stay resident in every thread: each module here once cost a megabyte or more.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Isthmus, manifest } from '../support/isthmus.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-modules-'));
const isthmus = new Isthmus();
const loaded: Record<string, string> = {};

beforeAll(async () => {
  // Every thread runs this first, and writes its loaded modules when it ends.
  const script = join(directory, 'at-exit.cjs');
  writeFileSync(
    script,
    `const { isMainThread } = require('node:worker_threads');
     const { writeFileSync } = require('node:fs');
     process.on('exit', () => writeFileSync(
       ${JSON.stringify(directory)} + (isMainThread ? '/main' : '/control'),
       [...process.moduleLoadList, ...Object.keys(require.cache)].join('\\n'),
     ));`,
  );
  isthmus.environment.NODE_OPTIONS = `--require ${script}`;
  isthmus.writeManifest(
    'a.yaml',
    manifest({ name: 'a', networkId: 'c0ffee00-0000-4000-8000-000000000001', address: '10.0.0.5' }),
  );
  await isthmus.start();
  expect((await isthmus.get('/metrics')).body).toContain('isthmus_ready 1');
  isthmus.signal('SIGTERM');
  expect(await isthmus.ended()).toBe(0);
  for (const thread of ['main', 'control']) loaded[thread] = readFileSync(join(directory, thread), 'utf8');
});

afterAll(async () => {
  await isthmus.stop();
  rmSync(directory, { recursive: true, force: true });
});

test.each(['main', 'control'])('the %s thread loads no TLS, no cryptography, no HTTP/2', (thread) => {
  expect(loaded[thread]).toContain('NativeModule net\n');
  expect(loaded[thread]).not.toMatch(/^NativeModule (?:tls|crypto|http2|internal\/deps\/undici\/undici)$/m);
});

test('no thread loads a log formatter without a terminal, nor modules for metrics that do not exist', () => {
  expect(loaded.main).toContain('node_modules/pino/');
  expect(loaded.main).not.toMatch(/pino-pretty|opentelemetry/);
});
