// The settings that the DaemonSet requests from a container runtime, read from the manifest in deploy/: the image is tested with
// exactly these. A setting that kubelet would reject or read differently is an error.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

export interface PodSettings {
  readonly uid: number;
  /** As in a manifest: without `CAP_`. */
  readonly capabilities: readonly string[];
  readonly privilegeEscalation: boolean;
  readonly readOnlyRoot: boolean;
  readonly hostNetwork: boolean;
  readonly netns: { readonly hostPath: string; readonly mountPath: string; readonly readOnly: boolean };
  /** Other directories of the host, which kubelet makes if they do not exist. */
  readonly directories: readonly { readonly hostPath: string; readonly mountPath: string }[];
  /** Empty directories of the Pod. */
  readonly emptyDirectories: readonly string[];
  /** Variables with a value. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that kubelet fills in: the paths of the Pod's fields. */
  readonly fields: Readonly<Record<string, string>>;
  /** The probes of kubelet, each with a port of the container. */
  readonly probes: readonly { readonly path: string; readonly port: number }[];
}

const MANIFESTS = new URL('../../deploy/manifests/', import.meta.url);

interface Named {
  readonly name: string;
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: number };
}
interface Container extends Named {
  readonly env?: readonly (Named & {
    readonly value?: string;
    readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
  })[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext?: {
    readonly runAsUser?: number;
    readonly privileged?: boolean;
    readonly allowPrivilegeEscalation?: boolean;
    readonly readOnlyRootFilesystem?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts?: readonly (Named & {
    readonly mountPath: string;
    readonly readOnly?: boolean;
    readonly mountPropagation?: string;
  })[];
}
interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly securityContext?: { readonly runAsUser?: number };
  readonly containers: readonly Container[];
  readonly volumes?: readonly (Named & {
    readonly hostPath?: { readonly path: string; readonly type?: string };
    readonly emptyDir?: object;
  })[];
}

export function podSettings({ hostNetwork = true }: { readonly hostNetwork?: boolean } = {}): PodSettings {
  const file = hostNetwork ? 'isthmus.yaml' : 'isthmus-pod-network.yaml';
  return settingsIn(readFileSync(new URL(file, MANIFESTS), 'utf8'));
}

export function settingsIn(manifests: string): PodSettings {
  const objects = parseAllDocuments(manifests).map(
    (each) => each.toJS() as { kind?: string; spec?: unknown } | null,
  );
  const found = objects.find((each) => each?.kind === 'DaemonSet');
  if (found == null) throw new Error('no DaemonSet among the manifests');
  const { spec } = (found.spec as { template: { spec: PodSpec } }).template;
  const container = spec.containers.find(({ name }) => name === 'isthmus') ?? spec.containers[0];
  if (container === undefined) throw new Error('the DaemonSet has no container');
  const context = container.securityContext ?? {};
  const { drop = [], add = [] } = context.capabilities ?? {};
  if (context.privileged === true) throw new Error('the container is privileged');
  if (spec.hostPID === true) throw new Error('the Pod sees all processes of its node');
  if (!drop.includes('ALL')) throw new Error('the container does not drop ALL capabilities');
  const volume = spec.volumes?.find(({ hostPath }) => /^(\/var)?\/run\/netns$/.test(hostPath?.path ?? ''));
  const mount = container.volumeMounts?.find(({ name }) => name === volume?.name);
  if (volume === undefined || mount === undefined) throw new Error('/run/netns of the node is not mounted');
  if (mount.mountPropagation !== 'HostToContainer')
    throw new Error(
      `/run/netns is mounted with ${mount.mountPropagation}: later namespaces would not be seen`,
    );
  const isEmptyDirectory = (volumeName: string) =>
    spec.volumes?.find(({ name }) => name === volumeName)?.emptyDir !== undefined;
  const directories = (container.volumeMounts ?? [])
    .filter((each) => each !== mount && !isEmptyDirectory(each.name))
    .map(({ name, mountPath }) => {
      const found = spec.volumes?.find((each) => each.name === name)?.hostPath;
      if (found?.type !== 'DirectoryOrCreate') throw new Error(`${mountPath} is no directory of the host`);
      return { hostPath: found.path, mountPath };
    });
  const valued: [string, string][] = [];
  const fields: [string, string][] = [];
  for (const { name, value, valueFrom } of container.env ?? []) {
    const path = valueFrom?.fieldRef?.fieldPath;
    if (value !== undefined) valued.push([name, value]);
    else if (path !== undefined) fields.push([name, path]);
    else throw new Error(`${name} is neither a value nor a field of the Pod`);
  }
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const probes = [startupProbe, livenessProbe, readinessProbe].filter((each) => each !== undefined);
  return {
    env: Object.fromEntries(valued),
    fields: Object.fromEntries(fields),
    probes: probes.map(({ httpGet: { path, port } }) => ({ path, port })),
    uid: context.runAsUser ?? spec.securityContext?.runAsUser ?? 0,
    capabilities: add,
    privilegeEscalation: context.allowPrivilegeEscalation !== false,
    readOnlyRoot: context.readOnlyRootFilesystem === true,
    hostNetwork: spec.hostNetwork === true,
    directories,
    emptyDirectories: (container.volumeMounts ?? [])
      .filter(({ name }) => isEmptyDirectory(name))
      .map(({ mountPath }) => mountPath),
    netns: {
      hostPath: volume.hostPath?.path as string,
      mountPath: mount.mountPath,
      readOnly: mount.readOnly === true,
    },
  };
}
