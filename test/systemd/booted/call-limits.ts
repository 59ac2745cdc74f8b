// What the directives of isthmus.service about system calls forbid.
import { ALL_CAPABILITIES, DENIED, done, type Limit } from './limit.ts';
import { systemCall as call } from './system-call.ts';

export const CALLS_TRIED: readonly Limit[] = [
  {
    directive: 'SystemCallFilter',
    tries: 'to mount',
    script: done('mount -t tmpfs tmpfs /tmp'),
    forbidden: /permission denied|not permitted|must be superuser/i,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@privileged',
    tries: 'to give its capabilities up',
    script: call('capset', '$caps', '$zeros'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@setuid',
    tries: 'to set its group to its own group',
    script: call('setgid', '$( + 0'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@chown',
    tries: 'to change an owner',
    script: done('touch /tmp/mine && chown $(id -u) /tmp/mine'),
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@resources',
    tries: 'to change its priority',
    script: done('renice -n 19 $$'),
    forbidden: DENIED,
    allowed: /done$/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@keyring',
    tries: 'to use keyrings',
    script: call('keyctl', '0', '-3', '1'),
    forbidden: DENIED,
    // Not every kernel has keyrings. The filter answers first.
    allowed: /^done$|not implemented/,
  },
  {
    directive: 'SystemCallFilter',
    group: '@memlock',
    tries: 'to lock its memory',
    script: call('mlockall', '2'),
    beside: ALL_CAPABILITIES,
    forbidden: DENIED,
    allowed: /^done$/,
  },
  {
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
];
