// containerd on a node: its configuration, the network of its Pods, and the images, imported without a registry.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/tcp.ts';
import { PAUSE_IMAGE } from './images.ts';
import type { NodeProcess, RealNode } from './real-node.ts';

const HOME = '/var/lib/containerd';
export const SOCKET = '/run/containerd/containerd.sock';

const CRI = 'plugins."io.containerd.grpc.v1.cri"';
/** The machine grants no CAP_SYS_RESOURCE, hence no lower OOM score. It has no AppArmor in a mount namespace of ours. */
const configuration = (plugins: string): string => `version = 2
root = "${HOME}"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "${SOCKET}"
[${CRI}]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
[${CRI}.containerd]
  snapshotter = "overlayfs"
[${CRI}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[${CRI}.containerd.runtimes.runc.options]
  SystemdCgroup = false
[${CRI}.cni]
  bin_dir = "${plugins}"
  conf_dir = "/var/lib/cni-config"
`;

/** A bridge per node, with addresses of the node's own range. No masquerade: other nodes have a route to the range. */
const podNetwork = (subnet: string): object => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: false,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet }]],
        routes: [{ dst: '0.0.0.0/0' }],
        dataDir: '/run/cni-addresses',
      },
    },
  ],
});

export class ContainerRuntime {
  readonly #node: RealNode;
  #process: NodeProcess | null = null;

  constructor(node: RealNode, podSubnet: string) {
    this.#node = node;
    const { ISTHMUS_NODE_CNI: plugins } = process.env;
    if (plugins === undefined)
      throw new Error('no container runtime: these tests run with `npm run test:node`');
    const lib = (...path: readonly string[]) => join(node.disk, 'lib', ...path);
    for (const each of ['containerd', 'cni-config']) mkdirSync(lib(each), { recursive: true });
    writeFileSync(lib('containerd-config.toml'), configuration(plugins));
    writeFileSync(lib('cni-config', '10-pods.conflist'), JSON.stringify(podNetwork(podSubnet)));
  }

  async start(): Promise<void> {
    const started = this.#node.start(
      'containerd',
      'containerd',
      '--config',
      '/var/lib/containerd-config.toml',
    );
    this.#process = started;
    await until(
      `containerd serves on ${this.#node.name}`,
      () =>
        this.ctr('version').then(
          () => true,
          () => !started.running,
        ),
      60_000,
    );
    if (!started.running) throw new Error(`containerd did not start\n${started.lastLines()}`);
  }

  /** Containers go on without containerd: each has a shim. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.#process?.stop(signal);
  }

  ctr(...args: readonly string[]): Promise<string> {
    return this.#node.run('ctr', '--address', SOCKET, '--namespace', 'k8s.io', ...args);
  }

  /** The first process of a running container, as the node counts. */
  async pid(container: string): Promise<string> {
    const tasks = await this.ctr('tasks', 'list');
    const found = tasks.split('\n').find((line) => line.startsWith(container));
    const [, pid] = found?.split(/\s+/) ?? [];
    if (container === '' || pid === undefined)
      throw new Error(`no task of container "${container}" in:\n${tasks}`);
    return pid;
  }

  /** Imports an archive whose image has this name. The node reads it from its own disk: it does not see temporary files of the test. */
  async importImage(archive: string, name: string): Promise<void> {
    const copy = join(this.#node.disk, 'lib', 'import.tar');
    copyFileSync(archive, copy);
    await this.ctr('images', 'import', '/var/lib/import.tar');
    rmSync(copy);
    const names = (await this.ctr('images', 'list', '--quiet')).split('\n');
    if (!names.includes(name)) throw new Error(`${archive} brought no ${name}, but ${names.join(', ')}`);
  }

  /** Gives an image another name, as if another version came from the registry. */
  async tag(image: string, as: string): Promise<void> {
    await this.ctr('images', 'tag', image, as);
  }
}
