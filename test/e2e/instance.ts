// Isthmus on a network node, as users run it: the built program with the privileges of a Pod or a systemd unit, the node's own
// /run/netns, and a ServiceAccount with the rights that deploy/ ships.
import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { LoggedLine } from '../support/isthmus.ts';
import { LoggedProcess } from './component.ts';
import { type ContainerOptions, containerCommand } from './container.ts';

export type Privileges = 'pod' | 'systemd';
/** A root filesystem that replaces the work tree. crun starts it according to this Pod template: the image as the DaemonSet runs it. */
export type Image = Pick<
  ContainerOptions,
  'rootfs' | 'pod' | 'seccomp' | 'entrypoint' | 'extraArgs' | 'extraMounts'
>;

export interface InstanceOptions {
  readonly node: string;
  readonly address: string;
  readonly privileges: Privileges;
  /** The directory that is /run/netns on that node. */
  readonly netnsDirectory: string;
  readonly api: { readonly host: string; readonly port: number; readonly ca: Buffer; readonly token: string };
  readonly flags?: readonly string[];
  readonly image?: Image;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A copy of the work tree that an unprivileged user can read: the original may be in a home directory. */
export const INSTALLED = '/run/isthmus-program';
/** The manifest's hostPath for the handover socket. */
const HANDOVER = '/run/isthmus-pod';
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const SYSTEMD_UID = 64_999;

const DROPPED: Readonly<Record<Privileges, readonly string[]>> = {
  // securityContext: uid 0, drop ALL, add SYS_ADMIN, allowPrivilegeEscalation: false. A Pod gets no ambient capabilities.
  pod: [
    '--inh-caps',
    '-all',
    '--ambient-caps',
    '-all',
    '--bounding-set',
    '-all,+sys_admin',
    '--no-new-privs',
  ],
  // User=, AmbientCapabilities=CAP_SYS_ADMIN, CapabilityBoundingSet=CAP_SYS_ADMIN, NoNewPrivileges=yes
  systemd: [
    ...['--reuid', `${SYSTEMD_UID}`, '--regid', `${SYSTEMD_UID}`, '--clear-groups'],
    ...['--inh-caps', '-all,+sys_admin', '--ambient-caps', '-all,+sys_admin'],
    ...['--bounding-set', '-all,+sys_admin', '--no-new-privs'],
  ],
};

/** `ip netns exec` has created a mount namespace that receives our mounts. Later mounts of Neutron are visible, as with HostToContainer. */
const ON_THE_NODE =
  'mount --rbind "$1" /run/netns && ' +
  `if [ -n "$2" ]; then mkdir -p ${SERVICE_ACCOUNT} && mount --bind "$2" ${SERVICE_ACCOUNT}; ` +
  `mkdir -p ${HANDOVER} && mount --bind "$3" ${HANDOVER}; fi && ` +
  'shift 3 && exec "$@"';

export class Instance {
  readonly node: string;
  readonly address: string;
  readonly #options: InstanceOptions;
  #process: LoggedProcess | null = null;

  constructor(options: InstanceOptions) {
    this.#options = options;
    this.node = options.node;
    this.address = options.address;
  }

  start(...flags: readonly string[]): void {
    const all = [
      'run',
      '--log-level',
      'debug',
      '--log-format',
      'json',
      ...(this.#options.flags ?? []),
      ...flags,
    ];
    const { image } = this.#options;
    const [command, ...args] =
      image === undefined ? this.#command(all) : this.#container(image, all.slice(1));
    this.#process = new LoggedProcess(command as string, args, {
      label: `isthmus-${this.node}`,
    });
  }

  get wasStarted(): boolean {
    return this.#process !== null;
  }

  get process(): LoggedProcess {
    if (this.#process === null) throw new Error(`${this.node} was not started`);
    return this.#process;
  }

  log(): LoggedLine[] {
    const lines = readFileSync(this.process.logFile, 'utf8').split('\n');
    return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LoggedLine);
  }

  /** The number of finished connections of a cluster. */
  served(cluster: string): number {
    return this.log().filter((line) => line.backend != null && line.cluster === cluster).length;
  }

  /** Runs a command of the program on this node, such as `explain alpha`. */
  async ask(...args: readonly string[]): Promise<string> {
    const [command, ...rest] = this.#command(args);
    const { stdout } = await promisify(execFile)(command as string, rest, { timeout: 60_000 }).catch(
      (error: { stdout: string }) => error,
    );
    return stdout;
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL', graceMs = 60_000): Promise<void> {
    await this.#process?.stop(signal, graceMs);
  }

  #command(args: readonly string[]): string[] {
    const { privileges, netnsDirectory } = this.#options;
    const inTree = relative(ROOT, process.execPath);
    const node = inTree.startsWith('..') ? process.execPath : join(INSTALLED, inTree);
    const mounts = [
      netnsDirectory,
      ...(privileges === 'pod' ? [this.#directory, this.#handover()] : ['', '']),
    ];
    const inside = ['ip', 'netns', 'exec', this.node, 'sh', '-c', ON_THE_NODE, 'sh', ...mounts];
    const environment = privileges === 'pod' ? this.#inPod() : this.#inUnit();
    // Without the environment of the test: its ISTHMUS_ variables would be unknown settings to the program.
    const bare = ['env', '-i', ...Object.entries({ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...environment })];
    return [
      ...inside,
      ...bare.map((each) => (typeof each === 'string' ? each : each.join('='))),
      ...['setpriv', ...DROPPED[privileges], node, join(INSTALLED, 'dist', 'main.js')],
      ...args,
    ];
  }

  /** The template defines the command; `flags` are the additions of a test. */
  #container(image: Image, flags: readonly string[]): string[] {
    const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = this.#inPod() as Record<string, string>;
    const [command, args] = containerCommand({
      ...image,
      name: `isthmus-${this.node}`,
      netns: this.node,
      fields: {
        'spec.nodeName': this.node,
        'status.podIP': this.address,
        'status.hostIP': this.address,
        "metadata.labels['pod-template-generation']": '1',
      },
      hostPaths: {
        '/run/netns': this.#options.netnsDirectory,
        '/var/run/netns': this.#options.netnsDirectory,
        [HANDOVER]: this.#handover(),
      },
      serviceAccount: this.#directory,
      extraEnv: {
        KUBERNETES_SERVICE_HOST: `${KUBERNETES_SERVICE_HOST}`,
        KUBERNETES_SERVICE_PORT: `${KUBERNETES_SERVICE_PORT}`,
      },
      extraArgs: [...(image.extraArgs ?? []), ...flags],
    });
    return [command, ...args];
  }

  /** The directory that is /run/isthmus-pod on that node. The kubelet creates it too (DirectoryOrCreate). */
  #handover(): string {
    const handover = join(this.#directory, 'handover');
    mkdirSync(handover, { recursive: true });
    return handover;
  }

  get #directory(): string {
    return `/run/isthmus-${this.node}`;
  }

  /** Also removes the credentials: on the next site a node of this name may run as another user. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /**
   * The ServiceAccount as kubelet mounts it: the program finds it without configuration. The lock directory proves that a killed
   * instance is dead, so its successor need not wait for the Lease.
   */
  #inPod(): Record<string, string> {
    const { api } = this.#options;
    const directory = this.#directory;
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'ca.crt'), api.ca);
    writeFileSync(join(directory, 'token'), api.token, { mode: 0o600 });
    writeFileSync(join(directory, 'namespace'), 'magnum-system');
    return {
      KUBERNETES_SERVICE_HOST: api.host,
      KUBERNETES_SERVICE_PORT: `${api.port}`,
      NODE_NAME: this.node,
      POD_IP: this.address,
      ISTHMUS_LOCK_DIR: join(directory, 'lock'),
    };
  }

  /** A kubeconfig with a token file, both readable by the unit's user only; the address is that of the default route. */
  #inUnit(): Record<string, string> {
    const { api } = this.#options;
    const directory = this.#directory;
    mkdirSync(directory, { recursive: true });
    const kubeconfig = join(directory, 'kubeconfig');
    const tokenFile = join(directory, 'token');
    const server = `https://${api.host}:${api.port}`;
    writeFileSync(tokenFile, api.token, { mode: 0o600 });
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          { name: 'm', cluster: { server, 'certificate-authority-data': api.ca.toString('base64') } },
        ],
        users: [{ name: 'isthmus', user: { tokenFile } }],
        contexts: [{ name: 'm', context: { cluster: 'm', user: 'isthmus' } }],
        'current-context': 'm',
      }),
      { mode: 0o600 },
    );
    for (const path of [dirname(tokenFile), kubeconfig, tokenFile]) chownSync(path, SYSTEMD_UID, SYSTEMD_UID);
    return { KUBECONFIG: kubeconfig, NODE_NAME: this.node, ISTHMUS_LOCK_DIR: join(directory, 'lock') };
  }
}
