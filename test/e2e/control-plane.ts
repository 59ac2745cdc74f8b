// A real management cluster: etcd and kube-apiserver on loopback, with RBAC, tokens, a certificate of its own and an audit log.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessRule } from '../../src/demo/management-api/access.ts';
import { RawClient } from '../kube-api/raw-client.ts';
import { selfSigned } from '../support/certificates.ts';
import { freePort, until } from '../support/tcp.ts';
import { Component, LOGS } from './component.ts';

export const ADMIN = 'admin';

/** Metadata of every request but the watches' own progress: who, which verb, on what. */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`;

export class ControlPlane {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-control-plane-'));
  readonly auditLog = join(this.directory, 'audit.log');
  readonly certificate = selfSigned('127.0.0.1', 'localhost');
  readonly #tokens = new Map<string, string>();
  #etcdPort = 0;
  #etcd: Component | null = null;
  #apiServer: Component | null = null;
  #controllers: Component | null = null;
  port = 0;

  /** `users` beside the admin; what they may do is up to RBAC objects. */
  constructor({ users = [] }: { readonly users?: readonly string[] } = {}) {
    for (const user of [ADMIN, ...users]) this.#tokens.set(user, randomBytes(16).toString('hex'));
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.#writeFiles();
    this.port = await freePort();
    this.#etcdPort = await freePort();
    this.startEtcd(await freePort());
    await this.startApiServer();
  }

  startEtcd(peerPort: number): void {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    this.#etcd = new Component('etcd', [
      `--data-dir=${join(this.directory, 'etcd')}`,
      '--unsafe-no-fsync',
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--log-level=warn',
    ]);
  }

  async startApiServer(): Promise<void> {
    const at = (file: string) => join(this.directory, file);
    this.#apiServer = new Component('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${this.port}`,
      // No machine of the sandbox has an address that could be advertised, and nobody needs one.
      '--advertise-address=192.0.2.1',
      '--endpoint-reconciler-type=none',
      `--cert-dir=${at('certificates')}`,
      `--tls-cert-file=${this.certificate.certFile}`,
      `--tls-private-key-file=${this.certificate.keyFile}`,
      '--authorization-mode=RBAC',
      `--token-auth-file=${at('tokens.csv')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${at('service-account.pub')}`,
      `--service-account-signing-key-file=${at('service-account.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      `--audit-policy-file=${at('audit-policy.yaml')}`,
      `--audit-log-path=${this.auditLog}`,
    ]);
    const client = this.client();
    try {
      await until(
        'the API server is ready',
        async () => {
          if (this.#apiServer?.running !== true || this.#etcd?.running !== true) return true;
          return (await client.get('/readyz').catch(() => null))?.status === 200;
        },
        90_000,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.lastLines()}`);
    } finally {
      client.close();
    }
    if (this.#apiServer.running !== true || this.#etcd?.running !== true)
      throw new Error(`the control plane ended\n${this.lastLines()}`);
  }

  /** kube-controller-manager with these controllers and no others. */
  startControllers(...controllers: readonly string[]): void {
    const kubeconfig = join(this.directory, 'controllers.kubeconfig');
    writeFileSync(kubeconfig, this.kubeconfig(), { mode: 0o600 });
    this.#controllers = new Component('kube-controller-manager', [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join(',')}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      '--secure-port=0',
    ]);
  }

  /** RBAC reaches the authoriser through a watch of its own, a moment after the write. */
  async untilRulesOf(client: RawClient, rules: readonly AccessRule[]): Promise<void> {
    const [rule] = rules;
    if (rule?.resources === undefined) return;
    const resourceAttributes = {
      verb: rule.verbs[0],
      group: rule.apiGroups?.[0] ?? '',
      resource: rule.resources[0],
      name: rule.resourceNames?.[0] ?? '',
      namespace: rule.namespace ?? '',
    };
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    await until(
      'the rules are in force',
      async () =>
        (await client.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)).body.status
          ?.allowed === true,
      10_000,
    );
  }

  async stopApiServer(): Promise<void> {
    await this.#apiServer?.stop('SIGKILL');
  }

  client(user = ADMIN): RawClient {
    return new RawClient({ url: this.url, ca: this.certificate.cert, token: this.tokenOf(user) });
  }

  tokenOf(user: string): string {
    const token = this.#tokens.get(user);
    if (token === undefined) throw new Error(`${user} was not named when the control plane was made`);
    return token;
  }

  kubeconfig(user = ADMIN): string {
    const ca = this.certificate.cert.toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'management', cluster: { server: this.url, 'certificate-authority-data': ca } }],
      users: [{ name: user, user: { token: this.tokenOf(user) } }],
      contexts: [{ name: 'management', context: { cluster: 'management', user } }],
      'current-context': 'management',
    });
  }

  lastLines(): string {
    return [this.#etcd, this.#apiServer, this.#controllers].map((each) => each?.lastLines() ?? '').join('\n');
  }

  async stop(): Promise<void> {
    // Killed: whatever an API server wants to finish is of no interest to anybody any more.
    await this.#controllers?.stop('SIGKILL');
    await this.#apiServer?.stop('SIGKILL');
    await this.#etcd?.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  #writeFiles(): void {
    mkdirSync(LOGS, { recursive: true });
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const write = (file: string, text: string) =>
      writeFileSync(join(this.directory, file), text, { mode: 0o600 });
    write('service-account.key', privateKey.export({ type: 'pkcs1', format: 'pem' }) as string);
    write('service-account.pub', publicKey.export({ type: 'spki', format: 'pem' }) as string);
    write('audit-policy.yaml', AUDIT_POLICY);
    const lines = [...this.#tokens].map(
      ([user, token]) => `${token},${user},uid-of-${user}${user === ADMIN ? ',system:masters' : ''}`,
    );
    write('tokens.csv', `${lines.join('\n')}\n`);
  }
}
