// magnum-cluster-api-proxy on a network node, as sites run it today: root, its own HAProxy, the node's name and /run/netns.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LoggedProcess } from './component.ts';

export interface UpstreamOptions {
  readonly node: string;
  readonly address: string;
  readonly netnsDirectory: string;
  readonly kubeconfig: string;
}

/** Why it is not available here; null if it is. */
export function upstreamMissing(): string | null {
  const { ISTHMUS_UPSTREAM: home, ISTHMUS_UPSTREAM_MISSING: reason } = process.env;
  return home === undefined ? (reason ?? 'it was not prepared') : null;
}

/** It uses the host's name, and its HAProxy has sockets and a PID file in /run. */
const ON_THE_NODE = 'hostname "$1" && mount --rbind "$2" /run/netns && shift 2 && exec "$@"';

export class Upstream {
  readonly #process: LoggedProcess;

  constructor({ node, address, netnsDirectory, kubeconfig }: UpstreamOptions) {
    const {
      ISTHMUS_UPSTREAM: home = '',
      ISTHMUS_HAPROXY: haproxy = '/usr/sbin',
      ISTHMUS_HAPROXY_LIBRARIES: libraries = '',
    } = process.env;
    const directory = `/run/upstream-${node}`;
    mkdirSync(directory, { recursive: true });
    const environment = {
      PATH: `${join(home, 'bin')}:${haproxy}:/usr/sbin:/usr/bin:/sbin:/bin`,
      HOME: directory,
      KUBECONFIG: kubeconfig,
      POD_IP: address,
      PROXY_PORT: '6443',
      ...(libraries !== '' && { LD_LIBRARY_PATH: libraries }),
    };
    const variables = Object.entries(environment).map((each) => each.join('='));
    // Later namespaces are visible, as with HostToContainer; otherwise HAProxy would find empty files.
    // All its processes end together, as in a container: on its own it leaves its HAProxy running.
    const container = [
      'unshare',
      '--uts',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      '--propagation=slave',
    ];
    const inside = ['netns', 'exec', node, ...container, 'sh', '-c', ON_THE_NODE, 'sh', node, netnsDirectory];
    const command = ['env', '-i', ...variables, join(home, 'bin', 'magnum-cluster-api-proxy')];
    this.#process = new LoggedProcess('ip', [...inside, ...command], { label: `upstream-${node}` });
  }

  lastLines(): string {
    return this.#process.lastLines();
  }

  /** Sends SIGTERM to the first process of the container, and then ends all others. */
  async stop(): Promise<void> {
    const { pid } = this.#process;
    if (!this.#process.running) return;
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    if (first) process.kill(Number(first), 'SIGTERM');
    const timer = setTimeout(() => this.#process.signal('SIGKILL'), 20_000);
    await this.#process.ended();
    clearTimeout(timer);
  }
}
