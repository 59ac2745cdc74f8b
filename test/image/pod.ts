// Isthmus as a Pod of the DaemonSet: the image in a container, its service account as kubelet mounts it, and the embedded management
// API as its cluster.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Isthmus } from '../support/isthmus.ts';
import type { Management } from '../support/kubernetes/management.ts';
import { FAST_TIMES } from '../support/kubernetes/publish-site.ts';
import { Container, type ContainerOptions } from './container.ts';
import { type Family, PodNetwork } from './pod-network.ts';
import { type PodSettings, podSettings } from './pod-settings.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The address of a Pod on the host network; the clients of these tests run on the node and use loopback. */
const NODE_ADDRESS = '192.0.2.1';

export interface PodOptions extends Partial<Omit<ContainerOptions, 'pod' | 'netnsPath'>> {
  readonly node: string;
  /** The Pod's own network with an address of this family; null for the node's network. */
  readonly network?: Family | null;
}

export class Pod {
  readonly container: Container;
  readonly isthmus: Isthmus;
  readonly settings: PodSettings;
  readonly network: PodNetwork | null;
  /** `status.podIP`. */
  readonly address: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'isthmus-pod-'));

  constructor(management: Management, { node, network = null, ...options }: PodOptions) {
    const { api } = management;
    this.settings = podSettings({ hostNetwork: network === null });
    this.network = network === null ? null : new PodNetwork(network);
    this.address = this.network?.address ?? NODE_ADDRESS;
    this.isthmus = management.instance(node);
    this.isthmus.listen = null; // the manifest sets it
    if (this.network !== null) this.isthmus.host = this.address;
    const account = join(this.#directory, 'serviceaccount');
    mkdirSync(account);
    const { clusters } = parse(api.kubeconfig(`system:isthmus:${node}`)) as {
      clusters: [{ cluster: { 'certificate-authority-data': string } }];
    };
    writeFileSync(
      join(account, 'ca.crt'),
      Buffer.from(clusters[0].cluster['certificate-authority-data'], 'base64'),
    );
    writeFileSync(join(account, 'token'), `token-of-${node}`);
    writeFileSync(join(account, 'namespace'), 'magnum-system');
    this.container = new Container({
      runtime: 'crun',
      seccomp: null,
      ...options,
      pod: this.settings,
      netnsPath: this.network?.path ?? null,
      mounts: [{ source: account, destination: SERVICE_ACCOUNT }, ...(options.mounts ?? [])],
    });
    this.isthmus.launch = (args) =>
      this.container.launch(args, {
        ...expanded(
          this.settings.env,
          filledIn(this.settings.fields, {
            'spec.nodeName': node,
            'status.podIP': this.address,
            // Each Pod of a test is newer than the one before it.
            "metadata.labels['pod-template-generation']": `${++generation}`,
          }),
        ),
        KUBERNETES_SERVICE_HOST: management.host,
        KUBERNETES_SERVICE_PORT: `${api.port}`,
      });
  }

  start(...flags: readonly string[]): Promise<void> {
    return this.isthmus.start(...FAST_TIMES, ...flags);
  }

  /** The status code of a kubelet probe. */
  async probe(path: string, port: number): Promise<number> {
    const { host } = this.isthmus;
    return (await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`)).status;
  }

  async remove(): Promise<void> {
    await this.isthmus.stop();
    await this.container.remove();
    this.network?.remove();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Of the last Pod that any test started. */
let generation = 0;

/** As the kubelet does it: `$(NAME)` stands for a variable that was set before. */
function expanded(
  env: Readonly<Record<string, string>>,
  fields: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(env).map(([name, value]) => [
    name,
    value.replaceAll(/\$\((\w+)\)/g, (whole, field: string) => fields[field] ?? whole),
  ]);
  return { ...Object.fromEntries(entries), ...fields };
}

/** The downward API. */
function filledIn(
  fields: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(fields).map(([name, path]) => {
    const value = values[path];
    if (value === undefined) throw new Error(`no value for ${path}, which ${name} needs`);
    return [name, value];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}
