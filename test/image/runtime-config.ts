// The OCI runtime configuration that containerd derives from a Pod's settings, as pure code: the `config.json` of a bundle.
import type { PodSettings } from './pod-settings.ts';

export interface BindMount {
  readonly source: string;
  readonly destination: string;
  readonly writable?: boolean;
}

export interface ContainerPlan {
  readonly pod: PodSettings;
  readonly rootfs: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly BindMount[];
  /** The netns that a network plugin made for the Pod; null on the host network. */
  readonly netnsPath: string | null;
  /** `linux.seccomp` of the OCI runtime specification; null for none. */
  readonly seccomp: object | null;
}

// As in containerd, for every container that is not privileged.
const MASKED = [
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/sched_debug',
];
const READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

const systemMount = (destination: string, type: string, ...options: string[]) => ({
  destination,
  type,
  source: type,
  options: ['nosuid', ...options],
});

export function runtimeConfig(plan: ContainerPlan): object {
  const { pod, rootfs, args, env, mounts, netnsPath, seccomp } = plan;
  if (pod.hostNetwork !== (netnsPath === null))
    throw new Error('a network of its own is what a Pod has that is not on the host network');
  const capabilities = pod.capabilities.map((name) => `CAP_${name}`);
  const { hostPath, mountPath, readOnly } = pod.netns;
  const directories = pod.directories.map((each) => ({
    ...{ source: each.hostPath, destination: each.mountPath, writable: true },
  }));
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: pod.uid, gid: 0 },
      cwd: '/',
      args,
      env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', ...env }).map(
        ([key, value]) => `${key}=${value}`,
      ),
      noNewPrivileges: !pod.privilegeEscalation,
      capabilities: {
        bounding: capabilities,
        effective: capabilities,
        permitted: capabilities,
        inheritable: [],
        ambient: [],
      },
    },
    root: { path: rootfs, readonly: pod.readOnlyRoot },
    hostname: 'isthmus',
    mounts: [
      systemMount('/proc', 'proc', 'noexec', 'nodev'),
      ...pod.emptyDirectories.map((path) => systemMount(path, 'tmpfs', 'nosuid', 'nodev', 'mode=777')),
      systemMount('/dev', 'tmpfs', 'strictatime', 'mode=755', 'size=65536k'),
      systemMount('/dev/shm', 'tmpfs', 'noexec', 'nodev', 'mode=1777', 'size=65536k'),
      { ...systemMount('/sys', 'bind', 'rbind', 'noexec', 'nodev', 'ro'), source: '/sys' },
      {
        destination: mountPath,
        type: 'bind',
        source: hostPath,
        // HostToContainer. Kubernetes makes the mount read-only but not the mounts below it, because older kernels cannot do that.
        options: ['rbind', 'rslave', readOnly ? 'ro' : 'rw'],
      },
      ...[...directories, ...mounts].map(({ source, destination, writable = false }) => ({
        destination,
        type: 'bind',
        source,
        options: ['rbind', 'rprivate', writable ? 'rw' : 'ro'],
      })),
    ],
    linux: {
      namespaces: [
        ...['mount', 'pid', 'ipc', 'uts'].map((type) => ({ type })),
        // As containerd does: the runtime joins the Pod's namespace and creates none.
        ...(netnsPath === null ? [] : [{ type: 'network', path: netnsPath }]),
      ],
      // containerd adds this for HostToContainer. Otherwise the private root would cut the mount off from the node's mounts.
      rootfsPropagation: 'rslave',
      maskedPaths: MASKED,
      readonlyPaths: READ_ONLY,
      ...(seccomp === null ? {} : { seccomp }),
    },
  };
}
