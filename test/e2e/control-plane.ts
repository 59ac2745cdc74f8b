// A real control plane: etcd and kube-apiserver with RBAC, tokens, its own certificate and an audit log. It runs on loopback, or in a
// network namespace with an address that other machines reach.
import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AccessRule } from '../fake-kube-api/http/access.ts';
import { RawClient } from '../kube-api/raw-client.ts';
import { type Certificate, selfSigned } from '../support/certificates.ts';
import { until } from '../support/tcp.ts';
import type { Authority } from './authority.ts';
import { Component, componentCommand, LOGS } from './component.ts';

export const ADMIN = 'admin';

/** Audit metadata of every request except watch progress: user, verb, object. */
const AUDIT_POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`;

/** Ports outside the ephemeral range. An ephemeral port may be taken when a server restarts on it. */
const API_SERVER_PORT = 6443;
const ETCD_PORTS = [2379, 2380] as const;

let audited = 0;

export interface ControlPlaneOptions {
  /** Users beside the admin; RBAC objects define their rights. */
  readonly users?: readonly string[];
  /** Part of the log names. */
  readonly label?: string;
  readonly netns?: string;
  /** The address of the API server; loopback by default. One control plane at a time per netns. */
  readonly address?: string;
  readonly port?: number;
  readonly certificate?: Certificate;
  /** The issuer of the certificate; by default the certificate is self-signed. */
  readonly ca?: Buffer;
  /** Signs client certificates. */
  readonly clientCa?: string;
  readonly serviceRange?: string;
  /** For nodes with a kubelet: signs its certificates. The Service `kubernetes` then leads to this API server. */
  readonly nodeAuthority?: Authority | undefined;
}

/** The Service `kubernetes`, by which Pods reach the API server. */
const KUBERNETES_SERVICE = ['10.96.0.1', 'kubernetes.default.svc'];

export class ControlPlane {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-control-plane-'));
  /** In the log directory, because the audit log often explains a failure. */
  readonly auditLog: string;
  readonly certificate: Certificate;
  readonly address: string;
  readonly #options: ControlPlaneOptions;
  readonly #tokens = new Map<string, string>();
  #etcd: Component | null = null;
  #apiServer: Component | null = null;
  #controllers: Component | null = null;
  #scheduler: Component | null = null;
  readonly port: number;

  constructor(options: ControlPlaneOptions = {}) {
    const { users = [], address = '127.0.0.1', port = API_SERVER_PORT, certificate } = options;
    this.#options = options;
    this.address = address;
    this.port = port;
    audited += 1;
    this.auditLog = join(LOGS, `audit-${audited}-${options.label ?? 'kube-apiserver'}.log`);
    this.certificate = certificate ?? selfSigned(address, 'localhost', ...KUBERNETES_SERVICE);
    for (const user of [ADMIN, ...users]) this.#tokens.set(user, randomBytes(16).toString('hex'));
  }

  get url(): string {
    return `https://${this.address}:${this.port}`;
  }

  get ca(): Buffer {
    return this.#options.ca ?? this.certificate.cert;
  }

  async start(): Promise<void> {
    this.#writeFiles();
    this.startEtcd();
    await this.startApiServer();
  }

  startEtcd(): void {
    const [client, peer] = ETCD_PORTS.map((port) => `http://127.0.0.1:${port}`);
    this.#etcd = new Component(
      'etcd',
      [
        `--data-dir=${this.#etcdDirectory}`,
        '--unsafe-no-fsync',
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
        '--log-level=warn',
      ],
      this.#process('etcd'),
    );
  }

  async startApiServer(): Promise<void> {
    const at = (file: string) => join(this.directory, file);
    this.#apiServer = new Component(
      'kube-apiserver',
      [
        `--etcd-servers=http://127.0.0.1:${ETCD_PORTS[0]}`,
        `--bind-address=${this.address}`,
        `--secure-port=${this.port}`,
        `--cert-dir=${at('certificates')}`,
        `--tls-cert-file=${this.certificate.certFile}`,
        `--tls-private-key-file=${this.certificate.keyFile}`,
        `--token-auth-file=${at('tokens.csv')}`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${at('service-account.pub')}`,
        `--service-account-signing-key-file=${at('service-account.key')}`,
        `--service-cluster-ip-range=${this.#options.serviceRange ?? '10.96.0.0/16'}`,
        ...this.#nodeSettings(),
        `--audit-policy-file=${at('audit-policy.yaml')}`,
        `--audit-log-path=${this.auditLog}`,
      ],
      this.#process('kube-apiserver'),
    );
    try {
      await until(
        'the API server is ready',
        async () => {
          if (this.#apiServer?.running !== true || this.#etcd?.running !== true) return true;
          return this.#isReady();
        },
        240_000,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${this.lastLines()}`);
    }
    if (this.#apiServer.running !== true || this.#etcd?.running !== true)
      throw new Error(`the control plane ended\n${this.lastLines()}`);
  }

  /** kube-controller-manager with only these controllers. */
  startControllers(...controllers: readonly string[]): void {
    const kubeconfig = this.#writeKubeconfig('controllers');
    this.#controllers = new Component(
      'kube-controller-manager',
      [
        `--kubeconfig=${kubeconfig}`,
        `--controllers=${controllers.join(',')}`,
        '--leader-elect=false',
        '--bind-address=127.0.0.1',
        '--secure-port=0',
        `--service-account-private-key-file=${join(this.directory, 'service-account.key')}`,
        `--root-ca-file=${this.certificate.certFile}`,
      ],
      this.#process('kube-controller-manager'),
    );
  }

  startScheduler(): void {
    const kubeconfig = this.#writeKubeconfig('scheduler');
    this.#scheduler = new Component(
      'kube-scheduler',
      [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--bind-address=127.0.0.1', '--secure-port=0'],
      this.#process('kube-scheduler'),
    );
  }

  #writeKubeconfig(name: string): string {
    const file = join(this.directory, `${name}.kubeconfig`);
    writeFileSync(file, this.kubeconfig(), { mode: 0o600 });
    return file;
  }

  /** RBAC reaches the authoriser through its own watch, shortly after the write. */
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
      60_000,
    );
  }

  async stopApiServer(): Promise<void> {
    await this.#apiServer?.stop('SIGKILL');
  }

  /** A cold backup: etcd stops briefly, and the API server waits for it. */
  async backUp(): Promise<void> {
    await this.#etcd?.stop();
    cpSync(this.#etcdDirectory, this.#backup, { recursive: true });
    this.startEtcd();
    await this.untilReady();
  }

  /** Restores exactly the state of the backup. */
  async restore(): Promise<void> {
    await this.stopApiServer();
    await this.#etcd?.stop();
    rmSync(this.#etcdDirectory, { recursive: true });
    cpSync(this.#backup, this.#etcdDirectory, { recursive: true });
    this.startEtcd();
    await this.startApiServer();
  }

  async untilReady(): Promise<void> {
    await until('the API server is ready', () => this.#isReady(), 240_000);
  }

  client(user = ADMIN): RawClient {
    return new RawClient({ url: this.url, ca: this.ca, token: this.tokenOf(user) });
  }

  tokenOf(user: string): string {
    const token = this.#tokens.get(user);
    if (token === undefined) throw new Error(`${user} was not named when the control plane was made`);
    return token;
  }

  kubeconfig(user = ADMIN): string {
    const ca = this.ca.toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'management', cluster: { server: this.url, 'certificate-authority-data': ca } }],
      users: [{ name: user, user: { token: this.tokenOf(user) } }],
      contexts: [{ name: 'management', context: { cluster: 'management', user } }],
      'current-context': 'management',
    });
  }

  /** The API server's process, for facts that only the process shows. */
  get apiServer(): Component {
    if (this.#apiServer === null) throw new Error('the API server was not started');
    return this.#apiServer;
  }

  lastLines(): string {
    return [this.#etcd, this.#apiServer, this.#controllers].map((each) => each?.lastLines() ?? '').join('\n');
  }

  async stop(): Promise<void> {
    // SIGKILL: the test does not need an orderly shutdown of the API server.
    await this.#scheduler?.stop('SIGKILL');
    await this.#controllers?.stop('SIGKILL');
    await this.#apiServer?.stop('SIGKILL');
    await this.#etcd?.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  get #etcdDirectory(): string {
    return join(this.directory, 'etcd');
  }

  get #backup(): string {
    return join(this.directory, 'etcd-backup');
  }

  #process(name: string): { readonly label: string; readonly netns: string | undefined } {
    const { label, netns } = this.#options;
    return { label: label === undefined ? name : `${label}-${name}`, netns };
  }

  #nodeSettings(): string[] {
    const { nodeAuthority, clientCa } = this.#options;
    if (nodeAuthority === undefined)
      return [
        // Without nodes no machine of the sandbox has an address to advertise, and no test needs one.
        '--advertise-address=192.0.2.1',
        '--endpoint-reconciler-type=none',
        '--authorization-mode=RBAC',
        ...(clientCa === undefined ? [] : [`--client-ca-file=${clientCa}`]),
      ];
    const { certFile, keyFile } = nodeAuthority.issue('/O=system:masters/CN=kube-apiserver-kubelet-client');
    return [
      `--advertise-address=${this.address}`,
      '--authorization-mode=Node,RBAC',
      `--client-ca-file=${nodeAuthority.certFile}`,
      `--kubelet-client-certificate=${certFile}`,
      `--kubelet-client-key=${keyFile}`,
      '--kubelet-preferred-address-types=InternalIP',
      '--allow-privileged=true',
    ];
  }

  /** Queried from a reachable place: in a netns only a process inside it gets an answer. */
  async #isReady(): Promise<boolean> {
    const { netns } = this.#options;
    if (netns === undefined) {
      const client = this.client();
      const answer = await client.get('/readyz').catch(() => null);
      client.close();
      return answer?.status === 200;
    }
    const kubeconfig = join(this.directory, 'admin.kubeconfig');
    writeFileSync(kubeconfig, this.kubeconfig(), { mode: 0o600 });
    const [command, args] = componentCommand('kubectl', [
      `--kubeconfig=${kubeconfig}`,
      'get',
      '--raw',
      '/readyz',
    ]);
    const asked = promisify(execFile)('ip', ['netns', 'exec', netns, command, ...args], { timeout: 60_000 });
    return asked.then(
      () => true,
      () => false,
    );
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
