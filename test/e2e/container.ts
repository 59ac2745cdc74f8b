// A container as a node's runtime starts it: a root filesystem, with exactly the user, capabilities, seccomp and mounts of the Pod
// template. crun runs it. Template fields that this file does not support cause an error, so none is silently ignored.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional';
}

interface SeccompProfile {
  readonly type: 'RuntimeDefault' | 'Localhost' | 'Unconfined';
}

/** The fields of a Pod template that determine how its container runs. */
export interface PodTemplate {
  readonly spec: {
    readonly securityContext?: { readonly seccompProfile?: SeccompProfile };
    readonly volumes?: readonly {
      readonly name: string;
      readonly hostPath?: { readonly path: string };
      readonly emptyDir?: object;
    }[];
    readonly containers: readonly {
      readonly command?: readonly string[];
      readonly args?: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly value?: string;
        readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
      }[];
      readonly volumeMounts?: readonly VolumeMount[];
      readonly securityContext?: {
        readonly runAsUser?: number;
        readonly runAsGroup?: number;
        readonly allowPrivilegeEscalation?: boolean;
        readonly readOnlyRootFilesystem?: boolean;
        readonly privileged?: boolean;
        readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
        readonly seccompProfile?: SeccompProfile;
      };
    }[];
  };
}

export interface ContainerOptions {
  /** The name of the container, unique among running containers. */
  readonly name: string;
  readonly rootfs: string;
  readonly pod: PodTemplate;
  /** The netns of the node, which a Pod on the host network shares. */
  readonly netns: string;
  /** The values of the downward API: `spec.nodeName`, `status.podIP`. */
  readonly fields: Readonly<Record<string, string>>;
  /** Where the sandbox has the paths of the host: `/run/netns` of this node. */
  readonly hostPaths: Readonly<Record<string, string>>;
  /** The mount that kubelet adds: the directory with token and certificate of the ServiceAccount. */
  readonly serviceAccount: string;
  /** `linux.seccomp` of the OCI specification: the profile of type Localhost, or the equivalent of the runtime's default. */
  readonly seccomp?: object;
  /** The command of the image, used if the template has none. */
  readonly entrypoint?: readonly string[];
  readonly extraEnv?: Readonly<Record<string, string>>;
  readonly extraArgs?: readonly string[];
  /** Directories of the test that the root filesystem lacks, mounted read-only. */
  readonly extraMounts?: Readonly<Record<string, string>>;
}

/** Why this machine cannot start containers; null if it can. */
export function containersMissing(): string | null {
  const { ISTHMUS_E2E_CRUN: crun, ISTHMUS_E2E_CRUN_MISSING: reason } = process.env;
  return crun === undefined ? (reason ?? 'no crun') : null;
}

/** crun rejects a machine with cgroups of both versions, even if it uses none. */
const WITHOUT_CGROUPS = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"';
const PROPAGATION = { None: 'rprivate', HostToContainer: 'rslave', Bidirectional: 'rshared' } as const;
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

function mountsOf({ pod, hostPaths, serviceAccount, extraMounts = {} }: ContainerOptions): object[] {
  const [container] = pod.spec.containers;
  const bind = (source: string, destination: string, ...options: string[]) => ({
    destination,
    source,
    type: 'bind',
    options: ['rbind', ...options],
  });
  const wanted = (container?.volumeMounts ?? []).map((mount) => {
    const { name, mountPath, readOnly = false, mountPropagation = 'None' } = mount;
    const volume = pod.spec.volumes?.find((each) => each.name === name);
    if (volume?.emptyDir !== undefined) return { destination: mountPath, type: 'tmpfs', source: 'tmpfs' };
    const path = volume?.hostPath?.path;
    if (path === undefined) throw new Error(`the volume ${name} is neither hostPath nor emptyDir`);
    return bind(hostPaths[path] ?? path, mountPath, readOnly ? 'ro' : 'rw', PROPAGATION[mountPropagation]);
  });
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755'] },
    ...Object.entries(extraMounts).map(([to, from]) => bind(from, to, 'ro', 'rprivate')),
    ...wanted,
    bind(serviceAccount, SERVICE_ACCOUNT, 'ro', 'rprivate'),
  ];
}

function capabilitiesOf({ pod }: ContainerOptions): object {
  const { capabilities, privileged } = pod.spec.containers[0]?.securityContext ?? {};
  if (privileged === true) throw new Error('a privileged container is not what this is for');
  // Without an explicit setting the capabilities depend on the runtime.
  if (capabilities?.drop?.includes('ALL') !== true) throw new Error('the template does not drop ALL');
  const kept = (capabilities.add ?? []).map((name) => `CAP_${name}`);
  return { bounding: kept, effective: kept, permitted: kept, inheritable: [], ambient: [] };
}

function seccompOf({ pod, seccomp }: ContainerOptions): { seccomp?: object } {
  const own = pod.spec.containers[0]?.securityContext?.seccompProfile;
  const profile = own ?? pod.spec.securityContext?.seccompProfile;
  if (profile === undefined || profile.type === 'Unconfined') return {};
  if (seccomp !== undefined) return { seccomp };
  if (profile.type === 'RuntimeDefault') return {}; // crun has no default profile
  throw new Error('the template names a profile of its own, and none was given');
}

function environmentOf({ pod, fields, extraEnv = {} }: ContainerOptions): string[] {
  const given = new Map<string, string>();
  for (const { name, value = '', valueFrom } of pod.spec.containers[0]?.env ?? []) {
    const path = valueFrom?.fieldRef?.fieldPath;
    // As the kubelet does it: `$(NAME)` stands for a variable that was set before.
    const expanded = value.replaceAll(/\$\((\w+)\)/g, (whole, other: string) => given.get(other) ?? whole);
    const found = path === undefined ? expanded : fields[path];
    if (found === undefined) throw new Error(`no value for ${path}, which ${name} needs`);
    given.set(name, found);
  }
  const all = [...given, ...Object.entries(extraEnv)].map((each) => each.join('='));
  return ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...all];
}

/** The OCI runtime configuration for the template's first container. */
export function ociConfig(options: ContainerOptions): object {
  const { pod, rootfs, netns, entrypoint = [], extraArgs = [] } = options;
  const [container] = pod.spec.containers;
  const { runAsUser = 0, runAsGroup = 0, ...context } = container?.securityContext ?? {};
  return {
    ociVersion: '1.0.2',
    process: {
      cwd: '/',
      args: [...(container?.command ?? entrypoint), ...(container?.args ?? []), ...extraArgs],
      env: environmentOf(options),
      user: { uid: runAsUser, gid: runAsGroup },
      capabilities: capabilitiesOf(options),
      noNewPrivileges: context.allowPrivilegeEscalation === false,
    },
    root: { path: rootfs, readonly: context.readOnlyRootFilesystem === true },
    hostname: options.name,
    mounts: mountsOf(options),
    linux: {
      namespaces: [
        ...['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })),
        { type: 'network', path: `/run/netns/${netns}` },
      ],
      // The root of this mount namespace receives the host's mounts below /run/netns, as HostToContainer requires.
      rootfsPropagation: 'rslave',
      ...seccompOf(options),
    },
  };
}

/** The command that runs the container in the foreground and forwards signals to it. */
export function containerCommand(options: ContainerOptions): [command: string, args: string[]] {
  const { ISTHMUS_E2E_CRUN: program = 'crun' } = process.env;
  const bundle = `/run/containers/${options.name}`;
  mkdirSync(bundle, { recursive: true });
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(ociConfig(options)));
  // No cgroup: the tests need no limits, and the sandbox has no cgroup.
  const crun = [program, '--root=/run/crun', '--cgroup-manager=disabled'];
  const all = [...crun, 'run', `--bundle=${bundle}`, options.name];
  return ['unshare', ['--mount', '--propagation=slave', 'sh', '-c', WITHOUT_CGROUPS, 'sh', ...all]];
}
