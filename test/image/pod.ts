// Isthmus as a Pod of the DaemonSet: the image in a container, its service account as kubelet mounts it, and the embedded management
// API as its cluster.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Isthmus } from '../support/isthmus.ts';
import type { Management } from '../support/management.ts';
import { FAST } from '../support/publish-site.ts';
import { Container, type ContainerOptions } from './container.ts';
import { podSettings } from './pod-settings.ts';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface PodOptions extends Partial<ContainerOptions> {
  readonly node: string;
}

export class Pod {
  readonly container: Container;
  readonly isthmus: Isthmus;
  readonly #directory = mkdtempSync(join(tmpdir(), 'isthmus-pod-'));

  constructor(management: Management, options: PodOptions) {
    const { node } = options;
    const { api } = management;
    const pod = podSettings();
    this.isthmus = management.instance(node);
    this.isthmus.listen = null; // the manifest says where
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
      pod,
      seccomp: null,
      ...options,
      mounts: [{ source: account, destination: SERVICE_ACCOUNT }, ...(options.mounts ?? [])],
    });
    this.isthmus.launch = (args) =>
      this.container.launch(args, {
        ...pod.env,
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: `${api.port}`,
        NODE_NAME: node,
      });
  }

  start(...flags: readonly string[]): Promise<void> {
    return this.isthmus.start(...FAST, ...flags);
  }

  async remove(): Promise<void> {
    await this.isthmus.stop();
    await this.container.remove();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
