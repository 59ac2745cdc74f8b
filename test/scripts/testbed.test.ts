// The testbed's build, as far as a test can check it without building: the error without Go, and runs that do not need Go.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/fetch/testbed.mjs', import.meta.url));
const WRAPPER = `
import { ensureTestbed } from ${JSON.stringify(script)};
console.log(JSON.stringify(await ensureTestbed()));
`;
const directory = mkdtempSync(join(tmpdir(), 'isthmus-testbed-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function ensure(env: Record<string, string>) {
  const base = { HOME: directory, PATH: directory, ISTHMUS_TESTBED_CACHE: join(directory, 'cache') };
  return spawnSync(process.execPath, ['--input-type=module', '-e', WRAPPER], {
    env: { ...base, ...env },
    encoding: 'utf8',
  });
}

test('without Go the build fails, and names the missing tool and the alternative', () => {
  const { status, stderr } = ensure({});
  expect(status).not.toBe(0);
  expect(stderr).toContain('`go` is not on the PATH');
  expect(stderr).toContain('KUBEBUILDER_ASSETS');
});

test('with all binaries in KUBEBUILDER_ASSETS nothing is built', () => {
  const names = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl', 'coredns'];
  const missing = ensure({ KUBEBUILDER_ASSETS: directory });
  expect(missing.status).not.toBe(0);
  for (const name of names) {
    writeFileSync(join(directory, name), '#!/bin/sh\n');
    chmodSync(join(directory, name), 0o755);
  }
  const { status, stdout } = ensure({ KUBEBUILDER_ASSETS: directory });
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ ISTHMUS_TESTBED_ASSETS: directory });
});
