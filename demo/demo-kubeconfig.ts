// Writes the kubeconfig of a workload cluster as a control plane provider does, and reads it as a client does. Pure.
import { parse } from 'yaml';
import type { DemoCluster } from './demo-world.ts';

export function clusterKubeconfig({ name, certificates }: DemoCluster, server: string): string {
  const encoded = (bytes: Buffer) => bytes.toString('base64');
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${encoded(certificates.ca.cert)}
    server: ${server}
  name: ${name}
contexts:
- context:
    cluster: ${name}
    user: ${name}-admin
  name: ${name}-admin@${name}
current-context: ${name}-admin@${name}
kind: Config
preferences: {}
users:
- name: ${name}-admin
  user:
    client-certificate-data: ${encoded(certificates.client.cert)}
    client-key-data: ${encoded(certificates.client.key)}
`;
}

export interface KubeconfigFacts {
  readonly server: string;
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface Named {
  readonly name: string;
}

interface Kubeconfig {
  readonly 'current-context': string;
  readonly contexts: readonly (Named & { readonly context: { cluster: string; user: string } })[];
  readonly clusters: readonly (Named & { readonly cluster: Readonly<Record<string, string>> })[];
  readonly users: readonly (Named & { readonly user: Readonly<Record<string, string>> })[];
}

/** The values of its current context. */
export function kubeconfigFacts(text: string): KubeconfigFacts {
  const config = parse(text) as Kubeconfig;
  const context = named(config.contexts, config['current-context']).context;
  const { cluster } = named(config.clusters, context.cluster);
  const { user } = named(config.users, context.user);
  const decoded = (value: string | undefined) => Buffer.from(value ?? '', 'base64');
  return {
    server: cluster.server ?? '',
    ca: decoded(cluster['certificate-authority-data']),
    cert: decoded(user['client-certificate-data']),
    key: decoded(user['client-key-data']),
  };
}

function named<T extends Named>(list: readonly T[], name: string): T {
  const found = list.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the kubeconfig has no entry ${name}`);
  return found;
}
