// Computes the seccomp profile from the names of recorded system calls. Pure. This file also lists, with reasons, the calls that are
// always allowed, always refused, or restricted by their arguments.

/** Always allowed, even if not recorded: another kernel, rare moments, or the container runtime before the program starts need them. */
const ALWAYS = {
  'the program, its threads and its end': [
    ...['execve', 'exit', 'exit_group', 'rt_sigaction', 'rt_sigprocmask', 'rt_sigreturn', 'sigaltstack'],
    ...[
      'restart_syscall',
      'set_tid_address',
      'set_robust_list',
      'rseq',
      'arch_prctl',
      'prctl',
      'wait4',
      'waitid',
    ],
  ],
  'a crash must end by its own signal, so that it is seen as one': ['getpid', 'gettid', 'kill', 'tgkill'],
  'clocks, where the kernel cannot answer without a call': [
    ...['clock_gettime', 'clock_getres', 'clock_nanosleep', 'gettimeofday', 'nanosleep', 'time'],
  ],
  'memory, and what V8 does with it under pressure': [
    ...[
      'brk',
      'madvise',
      'membarrier',
      'mmap',
      'mprotect',
      'mremap',
      'munmap',
      'pkey_alloc',
      'pkey_free',
      'pkey_mprotect',
    ],
  ],
  'threads that wait for each other': [
    'futex',
    'sched_yield',
    'sched_getaffinity',
    'sched_setaffinity',
    'sched_getparam',
    'sched_getscheduler',
  ],
  'a look at the machine': [
    'getrandom',
    'getrlimit',
    'getrusage',
    'prlimit64',
    'setrlimit',
    'sysinfo',
    'times',
    'uname',
    'getcpu',
  ],
  'names are resolved by glibc and by c-ares': [
    'recvfrom',
    'recvmsg',
    'recvmmsg',
    'sendto',
    'sendmsg',
    'sendmmsg',
    'poll',
  ],
  'files of the program and of its credentials': [
    ...[
      'access',
      'close',
      'close_range',
      'dup',
      'dup2',
      'fcntl',
      'fstat',
      'fstatfs',
      'statfs',
      'getcwd',
      'getdents64',
      'lseek',
      'open',
    ],
    ...[
      'pread64',
      'read',
      'readlink',
      'readv',
      'stat',
      'lstat',
      'statx',
      'write',
      'writev',
      'pwrite64',
      'pwritev',
      'preadv',
    ],
  ],
  'following files': ['inotify_init1', 'inotify_add_watch', 'inotify_rm_watch'],
  'the runtime drops its privileges and says that it is done, after the filter is in place': [
    ...[
      'capget',
      'capset',
      'chdir',
      'fchdir',
      'getegid',
      'geteuid',
      'getgid',
      'getuid',
      'getppid',
      'openat2',
      'setgid',
      'setresgid',
      'setresuid',
      'setgroups',
      'setuid',
    ],
    ...[
      'epoll_create1',
      'epoll_ctl',
      'epoll_wait',
      'eventfd2',
      'mkdir',
      'unlink',
      'fchown',
      'setsid',
      'umask',
      'seccomp',
      'getpgrp',
    ],
  ],
};

/** Equivalent calls. If one of a group is recorded, all are allowed, because arm64 has only the newer names. */
const SAME = [
  ['access', 'faccessat', 'faccessat2'],
  ['chmod', 'fchmod', 'fchmodat', 'fchmodat2'],
  ['dup2', 'dup3'],
  ['epoll_create', 'epoll_create1'],
  ['epoll_wait', 'epoll_pwait', 'epoll_pwait2'],
  ['eventfd', 'eventfd2'],
  ['fork', 'vfork'],
  ['getdents', 'getdents64'],
  ['inotify_init', 'inotify_init1'],
  ['mkdir', 'mkdirat'],
  ['open', 'openat'],
  ['pipe', 'pipe2'],
  ['poll', 'ppoll'],
  ['readlink', 'readlinkat'],
  ['rename', 'renameat', 'renameat2'],
  ['select', 'pselect6'],
  ['stat', 'lstat', 'fstat', 'newfstatat', 'statx'],
  ['unlink', 'unlinkat', 'rmdir'],
  ['accept', 'accept4'],
];

/** Refused even if recorded: the callers work without these calls. */
const REFUSED = new Set([
  'clone3', // see below
  'io_uring_setup', // libuv then calls epoll_ctl itself; RuntimeDefault refuses them too
  'io_uring_enter',
  'io_uring_register',
  'ptrace', // strace itself calls it
]);

const CLONE_NEW_ANY = 0x7e02_0000; // every namespace: mount, cgroup, uts, ipc, user, pid, net
const CLONE_NEWNET = 0x4000_0000;
const ENOSYS = 38;
const FAMILIES = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 };

/** Calls that are allowed only with these arguments. */
const NARROWED = {
  clone: [[{ index: 0, value: CLONE_NEW_ANY, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]],
  setns: [[{ index: 1, value: CLONE_NEWNET, op: 'SCMP_CMP_EQ' }]],
  socket: Object.values(FAMILIES).map((family) => [{ index: 0, value: family, op: 'SCMP_CMP_EQ' }]),
  socketpair: [[{ index: 0, value: FAMILIES.AF_UNIX, op: 'SCMP_CMP_EQ' }]],
};

export function allowedNames(seen) {
  const names = new Set([...seen, ...Object.values(ALWAYS).flat(), ...Object.keys(NARROWED)]);
  for (const name of REFUSED) names.delete(name);
  for (const group of SAME)
    if (group.some((name) => names.has(name))) for (const name of group) names.add(name);
  return [...names].sort();
}

/** Returns `linux.seccomp` of the OCI runtime specification. Kubernetes accepts this form as a Localhost profile. */
export function profileFor(seen) {
  const names = allowedNames(seen);
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    // ENOSYS makes a C library fall back to an older call. On EPERM it would fail.
    defaultErrnoRet: ENOSYS,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'],
    syscalls: [
      { names: names.filter((name) => !Object.hasOwn(NARROWED, name)), action: 'SCMP_ACT_ALLOW' },
      ...Object.entries(NARROWED).flatMap(([name, ways]) =>
        ways.map((args) => ({ names: [name], action: 'SCMP_ACT_ALLOW', args })),
      ),
      // clone3 takes its flags in memory, which a filter cannot read. On ENOSYS, glibc falls back to clone.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/** Extracts the call names from the output of `strace -c`. */
export function namesIn(summary) {
  const rows = summary.split('\n').map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([first, , , calls]) => /^[\d.]+$/.test(first ?? '') && /^\d+$/.test(calls ?? ''))
    .map((row) => row.at(-1))
    .filter((name) => name !== 'total' && /^[a-z_0-9]+$/.test(name));
}
