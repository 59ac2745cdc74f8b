// Credentials that change while a client runs, and credentials that need a program or a proxy.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Credentials } from '../../src/kube/credentials/credentials.ts';
import { type HttpKubeClient, type KubeClientOptions, openKubeClient } from '../../src/kube/kube-client.ts';
import { selfSigned } from '../support/certificates.ts';
import { apiCertificate, json, refuse, ScriptedApi } from './scripted-api.ts';

const PATH = '/api/v1/nodes';
let api: ScriptedApi;
const clients: HttpKubeClient[] = [];

async function open(options: Partial<KubeClientOptions>): Promise<HttpKubeClient> {
  const client = await openKubeClient({ kubeconfig: null, environment: {}, ...options });
  clients.push(client);
  return client;
}
const ask = (client: HttpKubeClient) => client.request({ method: 'GET', path: PATH });
const authorizations = () => api.asked.map(({ headers }) => headers.authorization);
/** The client checks files once per second. */
const eventually = <T>(look: () => T) => expect.poll(look);
const file = (name: string, content: string | Buffer) => {
  const path = join(api.directory, name);
  writeFileSync(path, content);
  return path;
};

beforeEach(async () => {
  api = await new ScriptedApi({ requestCert: true, rejectUnauthorized: false }).start();
  api.handler = (_, response) => json(response, {});
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await api.end();
});

/** A handler that accepts one token. */
const accepting = (token: () => string) => {
  api.handler = ({ headers }, response) =>
    headers.authorization === `Bearer ${token()}`
      ? json(response, {})
      : refuse(response, 401, 'Unauthorized');
};

describe('a token in a file', () => {
  test('is read again at once after a rejection, and the request is retried once', async () => {
    let valid = 'first';
    accepting(() => valid);
    const path = file('token', 'first\n');
    const client = await open({ kubeconfig: api.kubeconfig({ tokenFile: path }) });
    await ask(client);
    valid = 'second';
    writeFileSync(path, 'second\n');
    await ask(client);
    expect(authorizations()).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
    expect(client.callCounts().get('list')).toBe(3);
  });

  test('fails the request after the second rejection', async () => {
    accepting(() => 'another');
    const client = await open({ kubeconfig: api.kubeconfig({ tokenFile: file('token', 's3cret') }) });
    await expect(ask(client)).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
    expect(api.asked).toHaveLength(2);
  });

  test('is followed through the symbolic links of a projected volume, and the old token stays while the file is unreadable', async () => {
    const volume = join(api.directory, 'volume');
    for (const [name, token] of [
      ['..1', 'first'],
      ['..2', 'second'],
    ] as const) {
      mkdirSync(join(volume, name), { recursive: true });
      writeFileSync(join(volume, name, 'token'), token);
    }
    const swap = (to: string) => {
      symlinkSync(to, join(volume, '..tmp'));
      renameSync(join(volume, '..tmp'), join(volume, '..data'));
    };
    swap('..1');
    symlinkSync('..data/token', join(volume, 'token'));
    let nowMs = 0;
    const problems: (string | null)[] = [];
    const credentials = await Credentials.open({
      place: { kind: 'files', paths: [api.kubeconfig({ tokenFile: join(volume, 'token') })] },
      environment: {},
      now: () => nowMs,
      onProblem: (problem) => problems.push(problem),
    });
    const token = async () => (await credentials.current()).headers.Authorization;
    expect(await token()).toBe('Bearer first');
    swap('..2');
    expect(await token()).toBe('Bearer first'); // one check per second
    nowMs += 1001;
    expect(await token()).toBe('Bearer second');
    rmSync(join(volume, '..data'));
    nowMs += 1001;
    expect(await token()).toBe('Bearer second');
    expect(problems).toEqual([expect.stringContaining('ENOENT')]);
    swap('..1');
    nowMs += 1001;
    expect(await token()).toBe('Bearer first');
    expect(problems).toEqual([expect.any(String), null]);
  });

  test('and the certificate authority of a Pod are found and used', async () => {
    const directory = join(api.directory, 'account');
    mkdirSync(directory);
    const { cert } = selfSigned('stranger-to-pods');
    writeFileSync(join(directory, 'token'), 'of-the-pod');
    writeFileSync(join(directory, 'ca.crt'), cert);
    const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(api.port) };
    const client = await open({ environment, serviceAccountDirectory: directory });
    expect(client).toMatchObject({
      server: api.url,
      identity: `the service account of this Pod, with the token in ${directory}/token`,
    });
    // With a wrong authority the client does not trust the server and sends no token.
    await expect(ask(client)).rejects.toMatchObject({ code: 'unreachable' });
    expect(api.asked).toHaveLength(0);
  });
});

describe('certificates', () => {
  test('of server and client are replaced while the client runs, and half a pair waits for its other half', async () => {
    const [one, two] = [selfSigned('client-one'), selfSigned('client-two')];
    const subjects: (string | undefined)[] = [];
    api.handler = (_, response) => {
      const { subject } = (response.socket as TLSSocket).getPeerCertificate();
      subjects.push(subject?.CN as string | undefined);
      json(response, {});
    };
    const [cert, key] = [file('c.pem', one.cert), file('k.pem', one.key)];
    const problems: (string | null)[] = [];
    const credentialed = api.kubeconfig({ 'client-certificate': cert, 'client-key': key });
    const client = await open({
      kubeconfig: credentialed,
      onCredentialProblem: (problem) => problems.push(problem),
    });
    await ask(client);
    writeFileSync(cert, two.cert);
    await eventually(() => ask(client).then(() => problems.length)).toBe(1);
    expect(problems[0]).toContain('cannot be used together');
    writeFileSync(key, two.key);
    await eventually(() => ask(client).then(() => subjects.at(-1))).toBe('client-two');
    expect(new Set(subjects)).toEqual(new Set(['client-one', 'client-two']));
    expect(problems).toHaveLength(2);
    await eventually(() => api.openConnections).toBe(1);
  });

  test('of a replaced authority take effect while the client runs', async () => {
    const ca = file('ca.pem', apiCertificate().cert);
    const cluster = { 'certificate-authority-data': undefined, 'certificate-authority': ca };
    const client = await open({ kubeconfig: api.kubeconfig({ token: 'a' }, cluster) });
    await ask(client);
    writeFileSync(ca, selfSigned('stranger').cert);
    await eventually(() =>
      ask(client).then(
        () => '',
        (error: { code: string }) => error.code,
      ),
    ).toBe('unreachable');
    writeFileSync(ca, apiCertificate().cert);
    await eventually(() =>
      ask(client).then(
        () => 'well',
        () => '',
      ),
    ).toBe('well');
  });

  test('of another server are rejected, unless the kubeconfig disables verification', async () => {
    const wrongName = await open({
      kubeconfig: api.kubeconfig({ token: 'a' }, { 'tls-server-name': 'other.test' }),
    });
    await expect(ask(wrongName)).rejects.toMatchObject({ code: 'unreachable' });
    expect(api.asked).toHaveLength(0);
    const careless = { 'tls-server-name': 'other.test', 'insecure-skip-tls-verify': true };
    await ask(await open({ kubeconfig: api.kubeconfig({ token: 'a' }, careless, 'careless') }));
    expect(authorizations()).toEqual(['Bearer a']);
  });
});

test('a replaced kubeconfig is followed, also to another server', async () => {
  const other = await new ScriptedApi().start();
  other.handler = (_, response) => json(response, {});
  try {
    const kubeconfig = api.kubeconfig({ token: 'one' });
    const client = await open({ kubeconfig });
    await ask(client);
    api.kubeconfig({ token: 'two' }, { server: other.url });
    await eventually(() => ask(client).then(() => client.server)).toBe(other.url);
    expect(other.asked[0]?.headers.authorization).toBe('Bearer two');
    writeFileSync(kubeconfig, 'half of it: [');
    await ask(client);
  } finally {
    await other.end();
  }
});

test('the client speaks plain HTTP if the kubeconfig requires it, and sends no token', async () => {
  const plain = await new ScriptedApi({ tls: false }).start();
  plain.handler = (_, response) => json(response, { plain: true });
  try {
    const client = await open({ kubeconfig: plain.kubeconfig({ token: 's3cret' }) });
    expect(await ask(client)).toEqual({ plain: true });
    expect(plain.asked[0]?.headers.authorization).toBeUndefined();
  } finally {
    await plain.end();
  }
});

describe('an exec plugin', () => {
  const plugin = (script: string) => {
    const path = file('plugin', `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return {
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './plugin',
        args: ['hello'],
        env: [{ name: 'EXTRA', value: 'more' }],
      },
    };
  };
  const printing = (status: string) =>
    `printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":%s}' '${status}'`;

  test('runs once, with its arguments and environment, and again when its token is rejected', async () => {
    let valid = 'token-1';
    accepting(() => valid);
    const counter = file('runs', '');
    const user = plugin(
      `echo "$1 $EXTRA $OF_US $KUBERNETES_EXEC_INFO" >> ${counter}\nn=$(wc -l < ${counter})\nprintf '{"kind":"ExecCredential","status":{"token":"token-%s"}}' $n`,
    );
    const environment = { OF_US: 'ours', PATH: '/usr/bin:/bin' };
    const client = await open({ kubeconfig: api.kubeconfig(user), environment });
    for (let each = 0; each < 3; each++) await ask(client);
    expect(authorizations()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-1']);
    valid = 'token-2';
    await ask(client);
    expect(authorizations().slice(3)).toEqual(['Bearer token-1', 'Bearer token-2']);
    const [run] = readFileSync(counter, 'utf8').split('\n');
    expect(run).toMatch(
      /^hello more ours \{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io\/v1"/,
    );
    expect(client.identity).toContain('plugin');
  });

  test('may print a client certificate', async () => {
    const { cert, key } = selfSigned('printed');
    const status = JSON.stringify({ clientCertificateData: String(cert), clientKeyData: String(key) });
    let subject: unknown;
    api.handler = (_, response) => {
      subject = (response.socket as TLSSocket).getPeerCertificate().subject?.CN;
      json(response, {});
    };
    const answer = file('answer', `{"kind":"ExecCredential","status":${status}}`);
    await ask(
      await open({
        kubeconfig: api.kubeconfig(plugin(`cat ${answer}`)),
        environment: { PATH: '/usr/bin:/bin' },
      }),
    );
    expect(subject).toBe('printed');
  });

  test.each<[title: string, script: string, problem: string]>([
    [
      'that fails',
      'echo "no s3cret-s3cret-s3cret-s3cret-s3cret-s3cret-s3cret here" >&2; exit 3',
      'failed with 3: no … here',
    ],
    ['that prints no JSON', 'echo s3cret', 'printed no ExecCredential'],
    ['that prints something else', `echo '{"kind":"s3cret"}'`, 'printed no ExecCredential'],
    ['whose token is invalid', printing('{"token":"s3cret s3cret"}'), 'printed an invalid token'],
  ])('%s causes an error that does not repeat its output', async (_title, script, problem) => {
    const error: unknown = await open({
      kubeconfig: api.kubeconfig(plugin(script)),
      environment: { PATH: '/usr/bin:/bin' },
    }).catch((caught: unknown) => caught);
    expect(String(error)).toContain(problem);
    expect(String(error)).not.toContain('s3cret');
  });
});

describe('through client-node', () => {
  test('a token of an identity provider works', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none' })}.${part({ exp: 4_000_000_000 })}.signature`;
    const user = { 'auth-provider': { name: 'oidc', config: { 'id-token': token } } };
    const client = await open({ kubeconfig: api.kubeconfig(user) });
    await ask(client);
    await ask(client);
    expect(authorizations()).toEqual([`Bearer ${token}`, `Bearer ${token}`]);
    expect(api.connections).toBe(1);
  });

  test('an HTTP proxy works, and its connections are reused', async () => {
    const sockets = new Set<Socket>();
    let tunnels = 0;
    const proxy: Server = createServer();
    proxy.on('connect', (request, client: Socket) => {
      tunnels++;
      const [host, port] = String(request.url).split(':');
      const server = connect(Number(port), host, () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(server).pipe(client);
      });
      for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    try {
      const tokenFile = file('token', 'through');
      const client = await open({
        kubeconfig: api.kubeconfig({ tokenFile }, { 'proxy-url': `http://127.0.0.1:${port}` }),
      });
      for (let each = 0; each < 5; each++) await ask(client);
      expect(authorizations()).toEqual(Array(5).fill('Bearer through'));
      expect(tunnels).toBe(1);
      await client.close();
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });
});
