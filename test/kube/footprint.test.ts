// The packages that a client loads. client-node costs 85 MB of resident memory and YAML 12 MB; only some kubeconfigs need them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { selfSigned } from '../support/certificates.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-footprint-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const kubeClient = fileURLToPath(new URL('../../src/kube/kube-client.ts', import.meta.url));
const reflector = fileURLToPath(new URL('../../src/kube/watch/reflector.ts', import.meta.url));
const servedVersion = fileURLToPath(new URL('../../src/kube/served-version.ts', import.meta.url));

const SCRIPT = `
import { registerHooks } from 'node:module';
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  },
});
const [files, options] = JSON.parse(process.argv[1]);
const [{ openKubeClient }] = await Promise.all(files.map((file) => import(file)));
const client = await openKubeClient(options);
await client.close();
console.log(JSON.stringify([...packages].sort()));
`;

function packagesFor(options: object): string[] {
  const files = [kubeClient, reflector, servedVersion];
  const args = ['--input-type=module', '-e', SCRIPT, JSON.stringify([files, options])];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as string[];
}

function kubeconfig(user: object, cluster: object = {}): string {
  const path = join(directory, 'config');
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(path, stringify(config));
  return path;
}

const { cert, key } = selfSigned('client');
const pair = {
  'client-certificate-data': cert.toString('base64'),
  'client-key-data': key.toString('base64'),
};

test("in a Pod the client loads only Node's own modules", () => {
  writeFileSync(join(directory, 'token'), 'token');
  writeFileSync(join(directory, 'ca.crt'), cert);
  const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' };
  expect(packagesFor({ kubeconfig: null, environment, serviceAccountDirectory: directory })).toEqual([]);
});

test.each([
  ['a token', { token: 'a' }],
  ['a client certificate', pair],
  [
    'a plugin',
    { exec: { apiVersion: 'v1', command: '/bin/echo', args: ['{"kind":"ExecCredential","status":{}}'] } },
  ],
])('with %s in a kubeconfig, the client loads only YAML', (_title, user) => {
  expect(packagesFor({ kubeconfig: kubeconfig(user), environment: {} })).toEqual(['yaml']);
});

test.each([
  ['an auth-provider', { 'auth-provider': { name: 'oidc', config: {} } }, {}],
  ['a proxy', {}, { 'proxy-url': 'http://127.0.0.1:1' }],
])('with %s, the client loads client-node', (_title, user, cluster) => {
  const packages = packagesFor({ kubeconfig: kubeconfig(user, cluster), environment: {} });
  expect(packages).toContain('@kubernetes/client-node');
});
