// The unit files as systemd reads them: no warning, an exposure within the limit, and mounts that reach the unit's mount namespace.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environmentName, FLAG_NAMES } from '../../src/cli/config/flags.ts';

const units = fileURLToPath(new URL('../../deploy/systemd/', import.meta.url));
const text = (file: string) => readFileSync(join(units, file), 'utf8');
const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.runIf(analyze)('systemd-analyze', () => {
  // A separate root with the programs that the unit names. The units of this machine have no effect on it.
  const root = mkdtempSync(join(tmpdir(), 'isthmus-units-'));
  beforeAll(() => {
    const home = join(root, 'usr/lib/isthmus/bin');
    for (const directory of [home, join(root, 'usr/lib/systemd/system'), join(root, 'etc')])
      mkdirSync(directory, { recursive: true });
    writeFileSync(join(home, 'node'), '', { mode: 0o755 });
    for (const unit of ['isthmus.service', 'isthmus.socket', 'run-netns.mount'])
      cpSync(join(units, unit), join(root, 'usr/lib/systemd/system', unit));
    for (const target of [
      'multi-user',
      'local-fs',
      'umount',
      'sockets',
      'network-online',
      'sysinit',
      'basic',
      'shutdown',
      'paths',
      'timers',
      'slices',
    ])
      writeFileSync(join(root, `usr/lib/systemd/system/${target}.target`), '[Unit]\nDescription=stands in\n');
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  test.each([
    ['the service and its socket', ['isthmus.service', 'isthmus.socket']],
    ['the mount for nodes with a Pod', ['run-netns.mount']],
  ])('verifies %s without a warning', (_title, names) => {
    const { stderr, status } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', '--recursive-errors=no', `--root=${root}`, ...names],
      { encoding: 'utf8' },
    );
    expect(stderr.split('\n').filter((line) => /isthmus|netns/.test(line))).toEqual([]);
    expect(status).toBe(0);
  });

  test('rates the exposure of the service at 3.0 or less', () => {
    const { stdout } = spawnSync(
      'systemd-analyze',
      ['security', '--offline=yes', '--no-pager', join(units, 'isthmus.service')],
      { encoding: 'utf8' },
    );
    const level = /Overall exposure level for isthmus\.service: (\d+\.\d+)/.exec(stdout)?.[1];
    expect(Number(level)).toBeLessThanOrEqual(3);
    expect(Number(level)).toBeGreaterThan(0);
  });

  test('allows every system call that a netns, a handover and the relay need', () => {
    const groups = execFileSync('systemd-analyze', ['syscall-filter'], { encoding: 'utf8' });
    const members = new Map<string, string[]>();
    let group = '';
    for (const line of groups.split('\n')) {
      if (line.startsWith('@')) group = line.trim();
      else if (/^ {4}[@\w]/.test(line)) members.set(group, [...(members.get(group) ?? []), line.trim()]);
    }
    const calls = (name: string): string[] =>
      (members.get(name) ?? []).flatMap((each) => (each.startsWith('@') ? calls(each) : [each]));
    const allowed = new Set<string>();
    for (const [, sign, list] of text('isthmus.service').matchAll(/^SystemCallFilter=(~?)(.*)$/gm))
      for (const name of (list as string).split(' '))
        for (const call of name.startsWith('@') ? calls(name) : [name])
          if (sign === '~') allowed.delete(call);
          else allowed.add(call);
    const needed =
      'setns socket bind listen accept4 connect sendmsg recvmsg sendto splice pipe2 epoll_create1 epoll_ctl epoll_wait eventfd2 ' +
      'getsockopt setsockopt clone3 execve wait4 inotify_init1 inotify_add_watch mkdir chmod rename unlink prlimit64 madvise mprotect mmap';
    expect(needed.split(' ').filter((call) => !allowed.has(call))).toEqual([]);
    expect(allowed.has('mount')).toBe(false);
    expect(allowed.has('setuid')).toBe(false);
  });
});

describe('the settings file', () => {
  test('contains only existing settings', () => {
    const known = new Set<string>([...FLAG_NAMES.map(environmentName), 'KUBECONFIG']);
    const named = [...text('isthmus.env').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name as string);
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('a mount namespace like that of the unit', () => {
  // systemd makes it a slave of the host's namespace. The first `ip netns add` makes /run/netns a separate shared mount.
  const script = (before: string) => `
    mount --make-rshared / && mount -t tmpfs tmpfs "$1" && mkdir -p "$1/netns"
    ${before}
    mkfifo "$1/go" "$1/done"
    unshare --mount --propagation slave sh -c 'echo ready > "$1/done"; read _ < "$1/go"; stat -f -c %T "$1/netns/later"' sh "$1" &
    read _ < "$1/done"
    ${before === '' ? 'mount --bind "$1/netns" "$1/netns" && mount --make-shared "$1/netns"' : ''}
    touch "$1/netns/later" && mount --bind /proc/self/ns/net "$1/netns/later"
    echo go > "$1/go"
    wait`;
  test.each([
    ['before', 'mount --bind "$1/netns" "$1/netns"; mount --make-shared "$1/netns"'],
    ['after', ''],
  ])('sees a netns that is created later, if /run/netns was mounted %s it started', (_title, before) => {
    const place = mkdtempSync(join(tmpdir(), 'isthmus-mounts-'));
    try {
      const { stdout, stderr } = spawnSync(
        'unshare',
        ['--mount', '--propagation', 'private', 'sh', '-ec', script(before), 'sh', place],
        { encoding: 'utf8', timeout: 120_000 },
      );
      expect({ stdout: stdout.trim(), stderr }).toEqual({
        stdout: expect.stringMatching(/^(nsfs|UNKNOWN \(0x6e736673\))$/),
        stderr: '',
      });
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});
