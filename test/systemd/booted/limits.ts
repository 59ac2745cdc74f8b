// What each directive of isthmus.service forbids, as a script that tries it. Each script runs twice: under the unit, and under the unit
// without the directive. Only the difference proves that the directive is what stops it.

export interface Limit {
  readonly directive: string;
  readonly tries: string;
  readonly script: string;
  readonly forbidden: RegExp;
  readonly allowed: RegExp;
  /** Directives that forbid the same. They are absent in both runs. */
  readonly beside?: readonly string[];
  /** Without it in its kernel or its container, a machine cannot enforce the directive. */
  readonly needs?: 'CAP_SYS_RESOURCE' | 'device filter' | 'keyrings';
}

/** As root without other capabilities: to file permissions it is the owner of the system's files. */
const AS_ROOT = ['User', 'Group', 'AmbientCapabilities'];
const ALL_CAPABILITIES = [...AS_ROOT, 'CapabilityBoundingSet'];
/** Each of them makes systemd set NoNewPrivileges= for a user without privileges. */
const FILTERS = [
  'LockPersonality',
  'PrivateDevices',
  'ProtectClock',
  'ProtectHostname',
  'ProtectKernelLogs',
  'ProtectKernelModules',
  'ProtectKernelTunables',
  'RestrictAddressFamilies',
  'RestrictNamespaces',
  'RestrictRealtime',
  'RestrictSUIDSGID',
  'SystemCallArchitectures',
  'SystemCallFilter',
];
const DENIED = /Operation not permitted|Permission denied/;

/** System calls by number: perl has no names for them. */
const NUMBERS = {
  x64: { adjtimex: 159, delete_module: 176, syslog: 103, sethostname: 170, keyctl: 250, mlockall: 151 },
  arm64: { adjtimex: 171, delete_module: 106, syslog: 116, sethostname: 161, keyctl: 219, mlockall: 230 },
} as const;
const numbers = NUMBERS[process.arch as keyof typeof NUMBERS];

const call = (name: keyof typeof numbers, ...args: readonly string[]) =>
  `perl -e 'my $b = "\\0" x 256; my $name = "isthmus-none"; my $r = syscall(${[numbers[name], ...args].join(', ')}); print $r < 0 ? "failed: $!\\n" : "done\\n"'`;
const done = (command: string) => `${command} 2>&1 && echo done`;

export const LIMITS_TRIED: readonly Limit[] = [
  { directive: 'User', tries: 'to be root', script: 'id -u', forbidden: /^[1-9]\d*$/, allowed: /^0$/ },
  {
    directive: 'Group',
    tries: 'to be in the group of root',
    script: 'id -g',
    forbidden: /^[1-9]\d*$/,
    allowed: /^0$/,
    beside: ['User'],
  },
  {
    directive: 'AmbientCapabilities',
    tries: 'to do without CAP_SYS_ADMIN, which it needs for setns',
    script: 'grep CapEff /proc/self/status',
    forbidden: /0000000000200000$/,
    allowed: /0000000000000000$/,
  },
  {
    directive: 'CapabilityBoundingSet',
    tries: 'as root, to serve port 80',
    script: `perl -MSocket -e 'socket(S, 2, 1, 0) && bind(S, sockaddr_in(80, INADDR_ANY)) ? print "done" : print $!'`,
    beside: AS_ROOT,
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'NoNewPrivileges',
    tries: 'to become root through a setuid program',
    script: '/opt/setuid-id -u',
    beside: FILTERS,
    forbidden: /^[1-9]\d*$/,
    allowed: /^0$/,
  },
  ...['--uts', '--ipc', '--cgroup', '--pid --fork', '--mount --propagation unchanged', '--user'].map(
    (kind) => ({
      directive: 'RestrictNamespaces',
      tries: `to make a namespace: unshare ${kind}`,
      script: done(`unshare ${kind} true`),
      forbidden: DENIED,
      allowed: /^done$/,
    }),
  ),
  {
    directive: 'RestrictAddressFamilies',
    tries: 'to open a packet socket',
    script: `perl -e 'socket(S, 17, 3, 0) ? print "done" : print $!'`,
    beside: ALL_CAPABILITIES,
    forbidden: /Address family not supported/,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    tries: 'to mount',
    script: done('mount -t tmpfs tmpfs /tmp'),
    forbidden: /permission denied|not permitted|must be superuser/i,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    tries: 'to change an owner',
    script: done('touch /tmp/mine && chown $(id -u) /tmp/mine'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    tries: 'to change its priority',
    script: done('renice -n 5 $$'),
    forbidden: DENIED,
    allowed: /done$/,
  },
  {
    directive: 'SystemCallFilter',
    needs: 'keyrings',
    tries: 'to use keyrings',
    script: call('keyctl', '0', '-3', '1'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    tries: 'to lock its memory',
    script: call('mlockall', '2'),
    beside: ALL_CAPABILITIES,
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    needs: 'keyrings',
    directive: 'SystemCallErrorNumber',
    tries: 'to survive a forbidden system call',
    script: `${call('keyctl', '0', '-3', '1')} 2>&1 || echo killed`,
    forbidden: /failed: Operation not permitted/,
    allowed: /killed/,
  },
  {
    directive: 'SystemCallArchitectures',
    tries: 'to run a program of 32 bits',
    script: '/opt/exit-42; echo "code $?"',
    forbidden: /code (159|126)/,
    allowed: /code 42/,
  },
  {
    directive: 'ProtectSystem',
    tries: 'to write to /usr, /etc and /var',
    script:
      'for at in /usr /etc /etc/default /var /opt; do touch $at/made-by-probe 2>&1 && rm $at/made-by-probe && echo done; done',
    beside: AS_ROOT,
    forbidden: /^(touch: .*Read-only file system\n?){5}$/,
    allowed: /^(done\n?){5}$/,
  },
  {
    directive: 'ProtectHome',
    tries: 'to read /root and /home',
    script: 'cat /root/secret /home/user/secret 2>&1',
    beside: AS_ROOT,
    forbidden: /^(cat: .*(Permission denied|No such file or directory)\n?){2}$/,
    allowed: /^secret\nsecret$/,
  },
  {
    directive: 'PrivateTmp',
    tries: 'to see files in /tmp',
    script: 'cat /tmp/secret 2>&1',
    forbidden: /No such file/,
    allowed: /^secret$/,
  },
  {
    directive: 'PrivateDevices',
    tries: 'to see a device of the machine',
    script: 'ls /dev/probe 2>&1',
    forbidden: /No such file/,
    allowed: /^\/dev\/probe$/,
  },
  {
    directive: 'DevicePolicy',
    needs: 'device filter',
    tries: 'to open a device',
    script: `perl -e 'open(F, "+<", "/dev/probe") ? print "done" : print $!'`,
    beside: [...AS_ROOT, 'PrivateDevices', 'ProtectClock'],
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'ProtectProc',
    tries: 'to see processes of other users',
    script: 'cat /proc/1/comm 2>&1',
    forbidden: /No such file/,
    allowed: /^systemd$/,
  },
  {
    directive: 'ProtectClock',
    tries: 'to call adjtimex',
    script: call('adjtimex', '$b'),
    beside: ['SystemCallFilter'],
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'ProtectHostname',
    tries: 'to set the host name',
    script: call('sethostname', '$name', '5'),
    beside: ['SystemCallFilter'],
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'ProtectKernelLogs',
    tries: 'to ask for the size of the kernel log',
    script: call('syslog', '10', '0', '0'),
    beside: [...ALL_CAPABILITIES, 'SystemCallFilter'],
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'ProtectKernelModules',
    tries: 'to unload a module that does not exist',
    script: call('delete_module', '$name', '0'),
    beside: [...ALL_CAPABILITIES, 'SystemCallFilter'],
    forbidden: DENIED,
    allowed: /No such file|not implemented/,
  },
  {
    directive: 'ProtectKernelTunables',
    tries: 'to write a setting of the kernel',
    script: done('{ cat $f >/tmp/now && cat /tmp/now >$f; }').replaceAll(
      '$f',
      '/proc/sys/net/ipv4/tcp_fin_timeout',
    ),
    beside: AS_ROOT,
    forbidden: /Read-only file system|cannot create/,
    allowed: /^done$/,
  },
  {
    directive: 'ProtectControlGroups',
    tries: 'to make a cgroup',
    script: done('mkdir /sys/fs/cgroup/probe && rmdir /sys/fs/cgroup/probe'),
    beside: AS_ROOT,
    forbidden: /Read-only file system/,
    allowed: /^done$/,
  },
  {
    directive: 'LockPersonality',
    tries: 'to change its personality',
    script: done('setarch -R true'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'RestrictRealtime',
    tries: 'to run in real time',
    script: done('chrt -r 1 true'),
    beside: [...ALL_CAPABILITIES, 'SystemCallFilter'],
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'RestrictSUIDSGID',
    tries: 'to make a setuid file',
    script: done('touch /tmp/file && chmod u+s /tmp/file'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'UMask',
    tries: 'to make files that others can read',
    script: 'umask',
    forbidden: /^0077$/,
    allowed: /^0022$/,
  },
  {
    directive: 'RuntimeDirectory',
    tries: 'to write below /run',
    script: 'touch /run/isthmus-probe/file 2>&1 && echo done',
    forbidden: /^done$/,
    allowed: /No such file/,
  },
  {
    directive: 'RuntimeDirectoryMode',
    tries: 'to show its directory to others',
    script: 'stat -c %a /run/isthmus-probe',
    forbidden: /^700$/,
    allowed: /^755$/,
  },
  {
    directive: 'ConfigurationDirectory',
    tries: 'to have a directory for its kubeconfig',
    script: 'ls -d /etc/isthmus-probe 2>&1',
    forbidden: /^\/etc\/isthmus-probe$/,
    allowed: /No such file/,
  },
  {
    directive: 'ConfigurationDirectoryMode',
    tries: 'to show its kubeconfig to others',
    script: 'stat -c %a /etc/isthmus-probe',
    forbidden: /^750$/,
    allowed: /^755$/,
  },
  {
    directive: 'LimitNOFILE',
    needs: 'CAP_SYS_RESOURCE',
    tries: 'to open more files than its share',
    script: 'ulimit -Hn',
    forbidden: /^131072$/,
    allowed: /^(?!131072$)\d+$/,
  },
  {
    directive: 'OOMScoreAdjust',
    needs: 'CAP_SYS_RESOURCE',
    tries: 'to be an early victim when memory runs out',
    script: 'cat /proc/self/oom_score_adj',
    forbidden: /^-500$/,
    allowed: /^(?!-500$)-?\d+$/,
  },
];
