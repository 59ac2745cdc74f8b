// How the seccomp profile is built from recorded system calls, and what the profile in deploy/ rejects. test/image/ checks that the
// program runs under it.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly args?: readonly { readonly index: number; readonly value: number; readonly op: string }[];
}
interface Profile {
  readonly defaultAction: string;
  readonly syscalls: readonly Rule[];
}

const { namesIn, profileFor } = await import(
  new URL('../../scripts/seccomp/profile.mjs', import.meta.url).href
);
const committed = JSON.parse(
  readFileSync(new URL('../../deploy/seccomp/isthmus.json', import.meta.url), 'utf8'),
) as Profile;
const allowed = (profile: Profile) =>
  profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names);

test('system call names are read from the strace summary, with and without errors', () => {
  const summary = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 50.00    0.000002           1         2         1 openat
 50.00    0.000002           1         2           splice
------ ----------- ----------- --------- --------- ----------------
100.00    0.000004           1         4         1 total
`;
  expect(namesIn(summary)).toEqual(['openat', 'splice']);
});

test('a system call that another architecture names differently is allowed under both names', () => {
  const names = allowed(profileFor(['epoll_wait', 'pipe2']));
  for (const name of ['epoll_wait', 'epoll_pwait', 'pipe', 'pipe2']) expect(names).toContain(name);
});

describe('the profile in deploy/', () => {
  test('refuses by default', () => expect(committed.defaultAction).toBe('SCMP_ACT_ERRNO'));

  test.each([
    ...[
      'mount',
      'umount2',
      'move_mount',
      'fsopen',
      'pivot_root',
      'chroot',
      'unshare',
      'clone3',
      'ptrace',
      'bpf',
      'perf_event_open',
    ],
    ...[
      'init_module',
      'finit_module',
      'kexec_load',
      'reboot',
      'swapon',
      'keyctl',
      'add_key',
      'process_vm_writev',
      'userfaultfd',
    ],
    ...[
      'open_by_handle_at',
      'quotactl',
      'sethostname',
      'settimeofday',
      'clock_settime',
      'io_uring_setup',
      'mknodat',
      'pidfd_getfd',
    ],
  ])('does not allow %s', (name) => expect(allowed(committed)).not.toContain(name));

  test('allows entering a network namespace but no other kind, and allows creating none', () => {
    const rules = (name: string) => committed.syscalls.filter(({ names }) => names.includes(name));
    expect(rules('setns')).toEqual([
      {
        names: ['setns'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 1, value: 0x4000_0000, op: 'SCMP_CMP_EQ' }],
      },
    ]);
    expect(rules('clone')).toEqual([
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: 0x7e02_0000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      },
    ]);
  });

  test('equals the output of profile.mjs for its own names, so it has no manual edits', () => {
    expect(profileFor(allowed(committed))).toEqual(committed);
  });
});
