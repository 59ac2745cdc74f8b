// From the names of system calls that were seen to the profile: pure. What is added to them, and what is narrowed by its arguments,
// stands here with the reason.

/** Seen or not, these are needed: on another kernel, in another moment, or by the runtime between the filter and our first line. */
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

/** The names of one machine, and what another calls it: whichever is seen, both are allowed. arm64 has only the newer ones. */
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

/** Seen in a trace, and refused all the same: who asks for these goes on without them. */
const REFUSED = new Set([
  'clone3', // see below
  'io_uring_setup', // libuv then calls epoll_ctl itself; RuntimeDefault refuses them too
  'io_uring_enter',
  'io_uring_register',
  'ptrace', // of whoever traced
]);

const CLONE_NEW_ANY = 0x7e02_0000; // every namespace: mount, cgroup, uts, ipc, user, pid, net
const CLONE_NEWNET = 0x4000_0000;
const ENOSYS = 38;
const FAMILIES = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 };

/** Allowed with these arguments alone. */
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

/** `linux.seccomp` of the OCI runtime specification, which is what Kubernetes takes as a Localhost profile. */
export function profileFor(seen) {
  const names = allowedNames(seen);
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    // A C library that asks for something newer goes on without it; on EPERM it would give up.
    defaultErrnoRet: ENOSYS,
    architectures: ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'],
    syscalls: [
      { names: names.filter((name) => !Object.hasOwn(NARROWED, name)), action: 'SCMP_ACT_ALLOW' },
      ...Object.entries(NARROWED).flatMap(([name, ways]) =>
        ways.map((args) => ({ names: [name], action: 'SCMP_ACT_ALLOW', args })),
      ),
      // Its flags are in memory, where no filter can look: glibc then uses clone.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/** The names in what `strace -c` writes. */
export function namesIn(summary) {
  const rows = summary.split('\n').map((line) => line.trim().split(/\s+/));
  return rows
    .filter(([first, , , calls]) => /^[\d.]+$/.test(first ?? '') && /^\d+$/.test(calls ?? ''))
    .map((row) => row.at(-1))
    .filter((name) => name !== 'total' && /^[a-z_0-9]+$/.test(name));
}
