// Compares our kubeconfig reader with client-node. client-node is the reference, except where kubectl differs: those rows say so.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { Credentials } from '../../src/kube/credentials/credentials.ts';
import { kubeAccess, type Source } from '../../src/kube/credentials/kubeconfig.ts';
import { selfSigned } from '../support/certificates.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-kubeconfig-'));
const base64 = (bytes: Buffer) => bytes.toString('base64');
const one = selfSigned('one.test');
const two = selfSigned('two.test');

interface Seen {
  readonly server: string | null;
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
  readonly verifies: boolean;
  readonly authorization: string | null;
  readonly asUser: string | null;
}

function written(cluster: object, user: object | null, extra: object = {}): string {
  const path = join(directory, 'config');
  const config = {
    'current-context': 'c',
    contexts: [
      { name: 'other', context: { cluster: 'other', user: 'other' } },
      { name: 'c', context: { cluster: 'k', ...(user === null ? {} : { user: 'u' }) } },
    ],
    clusters: [
      { name: 'other', cluster: { server: 'https://other.test' } },
      { name: 'k', cluster: { server: 'https://127.0.0.1:6443', ...cluster } },
    ],
    users: [
      { name: 'other', user: { token: 'of-another' } },
      { name: 'u', user },
    ],
    ...extra,
  };
  writeFileSync(path, stringify(config));
  return path;
}

async function theirs(path: string): Promise<Seen> {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const text = (value: unknown) => (value === undefined ? null : String(value));
  const headers = (options.headers ?? {}) as Record<string, string>;
  const basic = options.auth == null ? null : `Basic ${base64(Buffer.from(options.auth))}`;
  return {
    server: config.getCurrentCluster()?.server ?? null,
    ca: text(options.ca),
    cert: text(options.cert),
    key: text(options.key),
    serverName: options.servername ?? null,
    verifies: options.rejectUnauthorized !== false,
    authorization: headers.Authorization ?? basic,
    asUser: headers['Impersonate-User'] ?? null,
  };
}

async function ours(path: string): Promise<Seen> {
  const access = kubeAccess([{ path, content: parse(readFileSync(path, 'utf8')) }]);
  const text = (source: Source | null) =>
    source === null ? null : String(source.kind === 'data' ? source.data : readFileSync(source.path));
  const credentials = await Credentials.open({ place: { kind: 'files', paths: [path] }, environment: {} });
  const { headers, endpoint } = await credentials.current();
  expect(endpoint.tls?.rejectUnauthorized ?? true).toBe(!access.skipVerify);
  return {
    server: access.server,
    ca: text(access.ca),
    cert: text(access.cert),
    key: text(access.key),
    serverName: access.serverName,
    verifies: !access.skipVerify,
    authorization: (headers.Authorization as string | undefined) ?? null,
    asUser: (headers['Impersonate-User'] as string | undefined) ?? null,
  };
}

beforeAll(() => {
  writeFileSync(join(directory, 'ca.pem'), one.cert);
  writeFileSync(join(directory, 'cert.pem'), two.cert);
  writeFileSync(join(directory, 'key.pem'), two.key);
  writeFileSync(join(directory, 'token'), 'from-the-file\n');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const PAIR = { 'client-certificate-data': base64(two.cert), 'client-key-data': base64(two.key) };

describe('our reader agrees with client-node on', () => {
  test.each<[title: string, cluster: object, user: object]>([
    ['a token', {}, { token: 'abc.def' }],
    ['a client certificate in the file', {}, PAIR],
    [
      'a client certificate in files beside it',
      {},
      { 'client-certificate': 'cert.pem', 'client-key': 'key.pem' },
    ],
    [
      'a client certificate in files elsewhere',
      {},
      { 'client-certificate': join(directory, 'cert.pem'), 'client-key': join(directory, 'key.pem') },
    ],
    ['a token and a client certificate', {}, { token: 'abc', ...PAIR }],
    ['a password', {}, { username: 'me', password: 'p:w' }],
    ['a user with impersonation', {}, { token: 'abc', as: 'somebody' }],
    ['a user without anything', {}, {}],
    [
      'a certificate authority in the file',
      { 'certificate-authority-data': base64(one.cert) },
      { token: 'a' },
    ],
    ['a certificate authority in a file beside it', { 'certificate-authority': 'ca.pem' }, { token: 'a' }],
    ['a server that is not verified', { 'insecure-skip-tls-verify': true }, { token: 'a' }],
    [
      'a server that is verified, because the flag is a string',
      { 'insecure-skip-tls-verify': 'true' },
      { token: 'a' },
    ],
    ['another name of the server', { 'tls-server-name': 'kubernetes' }, { token: 'a' }],
    ['a server below a path', { server: 'https://rancher.test/k8s/clusters/c-1/' }, { token: 'a' }],
    ['an IPv6 address', { server: 'https://[fd00::1]:6443' }, { token: 'a' }],
  ])('%s', async (_title, cluster, user) => {
    const path = written(cluster, user);
    expect(await ours(path)).toEqual(await theirs(path));
  });
});

describe('our reader agrees with kubectl, not with client-node, on', () => {
  const differ = async (cluster: object, user: object | null) => {
    const path = written(cluster, user);
    return { ours: await ours(path), theirs: await theirs(path) };
  };

  test('a tokenFile: client-node reads only the unused key `token-file`', async () => {
    const seen = await differ({}, { tokenFile: 'token' });
    expect(seen.theirs.authorization).toBeNull();
    expect(seen.ours.authorization).toBe('Bearer from-the-file');
  });

  test('a token together with a tokenFile: the file wins, because it is kept fresh', async () => {
    const seen = await differ({}, { token: 'old', tokenFile: join(directory, 'token') });
    expect(seen.theirs.authorization).toBe('Bearer old');
    expect(seen.ours.authorization).toBe('Bearer from-the-file');
  });

  test('inline data together with a file: the data win', async () => {
    const seen = await differ(
      { 'certificate-authority': 'ca.pem', 'certificate-authority-data': base64(two.cert) },
      { token: 'a' },
    );
    expect(seen.theirs.ca).toBe(String(one.cert));
    expect(seen.ours.ca).toBe(String(two.cert));
  });

  test('a context without a user: the server is still verified', async () => {
    const seen = await differ({ 'certificate-authority': 'ca.pem' }, null);
    expect(seen.theirs.ca).toBeNull();
    expect(seen.ours.ca).toBe(String(one.cert));
  });

  test('plain HTTP from the file: it is used, without a credential', async () => {
    const path = written({ server: 'http://127.0.0.1:8001' }, { token: 'secret' });
    await expect(theirs(path)).rejects.toThrow('HTTP protocol is not allowed');
    expect(await ours(path)).toMatchObject({ server: 'http://127.0.0.1:8001', authorization: null });
  });

  test('impersonated groups', async () => {
    const path = written({}, { token: 'a', as: 'x', 'as-groups': ['g', 'h'], 'as-uid': '7' });
    const credentials = await Credentials.open({ place: { kind: 'files', paths: [path] }, environment: {} });
    expect((await credentials.current()).headers).toEqual({
      Authorization: 'Bearer a',
      'Impersonate-User': 'x',
      'Impersonate-Group': ['g', 'h'],
      'Impersonate-Uid': '7',
    });
  });

  test('several files: the first definition wins, and its paths are relative to its own directory', () => {
    const first = {
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      users: [{ name: 'u', user: { token: 'first' } }],
    };
    const second = {
      'current-context': 'c',
      users: [{ name: 'u', user: { token: 'second' } }],
      clusters: [{ name: 'k', cluster: { server: 'https://k.test', 'certificate-authority': 'ca.pem' } }],
    };
    const access = kubeAccess([
      { path: '/a/config', content: first },
      { path: '/b/config', content: second },
    ]);
    expect(access).toMatchObject({
      server: 'https://k.test',
      ca: { kind: 'file', path: '/b/ca.pem' },
      token: { kind: 'data', data: Buffer.from('first') },
      identity: 'user "u" of /a/config with its token',
    });
  });
});

describe('a kubeconfig is rejected, and the error shows no secret, for a file', () => {
  const of = (content: string) => {
    const path = join(directory, 'broken');
    writeFileSync(path, content);
    return Credentials.open({ place: { kind: 'files', paths: [path] }, environment: {} });
  };
  const text = (cluster: object, user: object, extra: object = {}) =>
    readFileSync(written(cluster, user, extra), 'utf8');

  test.each<[title: string, content: () => string, problem: string]>([
    ['that is not YAML', () => 'users: [ s3cret: {', 'it is not YAML'],
    ['that is empty', () => '', 'it is not a kubeconfig'],
    ['that is a list', () => '[]', 'it is not a kubeconfig'],
    [
      'without a current context',
      () => text({}, {}, { 'current-context': '' }),
      'current-context is not set',
    ],
    ['whose context is missing', () => text({}, {}, { 'current-context': 'x' }), 'there is no context "x"'],
    ['whose cluster is missing', () => text({}, {}, { clusters: null }), 'there is no cluster "k"'],
    ['whose user is missing', () => text({}, {}, { users: 's3cret' }), 'there is no user "u"'],
    [
      'with an invalid server',
      () => text({ server: 'ftp://x' }, {}),
      'is not an http:// or https:// address',
    ],
    [
      'with a password in the address',
      () => text({ server: 'https://a:s3cret@x' }, {}),
      'is not an http:// or https:// address',
    ],
    [
      'with a password that is a number',
      () => text({}, { username: 'a', password: 53 }),
      'password is not text',
    ],
    [
      'with half a key pair',
      () => text({}, { 'client-key-data': 's3cret' }),
      'only one of client certificate and key: set both',
    ],
    [
      'with an invalid key',
      () => text({}, { 'client-certificate-data': base64(one.cert), 'client-key-data': 'czNjcmV0' }),
      'cannot be used together',
    ],
    [
      'with the key of another certificate',
      () => text({}, { 'client-certificate-data': base64(one.cert), 'client-key-data': base64(two.key) }),
      'cannot be used together: ERR_OSSL_X509_KEY_VALUES_MISMATCH',
    ],
    [
      'with a token of several lines',
      () => text({}, { token: 's3cret\ns3cret' }),
      'does not contain a token',
    ],
    ['with a missing token file', () => text({}, { tokenFile: 'nope' }), 'ENOENT'],
    ['with a plugin without a command', () => text({}, { exec: { apiVersion: 'v1' } }), 'lacks its command'],
  ])('%s', async (_title, content, problem) => {
    const error: unknown = await of(content()).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'KubeconfigError' });
    expect(String(error)).toContain(problem);
    expect(String(error)).not.toMatch(/s3cret|czNjcmV0|53/);
  });
});
