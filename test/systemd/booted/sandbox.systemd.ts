// Every directive of isthmus.service that limits the process, proven by an attempt to do what it forbids.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS_TRIED, type Limit } from './limits.ts';
import { Machine } from './machine.ts';
import { LIMITS, underUnit } from './probe-unit.ts';

/** Tested below, with more than one script. */
const TRIED_APART = ['RemoveIPC', 'TasksMax'];

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.boot();
  writeFileSync(machine.path('/opt/exit-42'), exit42(), { mode: 0o755 });
  await machine.sh(`
    useradd --system --user-group isthmus
    install -m 4755 /usr/bin/id /opt/setuid-id
    mkdir -p /home/user
    for at in /root /home/user /tmp; do echo secret >$at/secret; chmod 644 $at/secret; done
    mknod -m 666 /dev/probe c 10 200
    mount -o remount,bind,rw /proc/sys`);
});
afterAll(() => machine?.remove());

/** Whether this machine can enforce a directive, found without the unit. */
const has: Readonly<Record<NonNullable<Limit['needs']>, () => Promise<boolean>>> = {
  CAP_SYS_RESOURCE: async () => {
    const [, set = '0'] = /^CapBnd:\s*(\w+)$/m.exec(await machine.sh('cat /proc/1/status')) ?? [];
    return ((BigInt(`0x${set}`) >> 24n) & 1n) === 1n;
  },
  'device filter': async () => {
    const { status } = await machine.run(
      ...['systemd-run', '--quiet', '--wait', '-p', 'DevicePolicy=strict', 'sh', '-c', ': <>/dev/probe'],
    );
    return status !== 0;
  },
  keyrings: async () => (await machine.run('test', '-e', '/proc/keys')).status === 0,
};

test('each directive that limits the process has an attempt to break it', () => {
  const tried = new Set([...LIMITS_TRIED.map(({ directive }) => directive), ...TRIED_APART]);
  expect(LIMITS.filter((name) => !tried.has(name))).toEqual([]);
});

for (const { directive, tries, script, beside = [], forbidden, allowed, needs } of LIMITS_TRIED) {
  test(`${directive} stops an attempt ${tries}`, async (context) => {
    if (needs !== undefined && !(await has[needs]())) {
      console.log(`! not tried: ${directive}. This machine has no ${needs}`);
      context.skip();
    }
    expect(await underUnit(machine, script, beside)).toMatch(forbidden);
    expect(await underUnit(machine, script, [...beside, directive])).toMatch(allowed);
  });
}

test('a network namespace may be entered under all directives', async () => {
  await machine.sh('ip netns add qdhcp-probe');
  expect(
    await underUnit(machine, 'nsenter --net=/run/netns/qdhcp-probe ls /sys/class/net 2>&1 && echo entered'),
  ).toMatch(/entered$/);
});

test('RemoveIPC removes the shared memory of the user when the service ends', async () => {
  const script = 'echo x >/dev/shm/probe';
  const left = async () => machine.sh('ls /dev/shm');
  await underUnit(machine, script, ['RemoveIPC']);
  expect(await left()).toBe('probe');
  await machine.sh('rm /dev/shm/probe');
  await underUnit(machine, script);
  expect(await left()).toBe('');
});

test('TasksMax bounds the processes and threads of the service', async (context) => {
  const controllers = await machine.sh('cat /sys/fs/cgroup/cgroup.controllers');
  if (!controllers.split(' ').includes('pids')) {
    console.log('! not tried: TasksMax. This kernel has no controller `pids` in cgroup version 2');
    context.skip();
  }
  const script = 'for i in $(seq 1 300); do sleep 5 & done 2>&1 | grep -c "Cannot fork" ; kill $(jobs -p)';
  expect(await underUnit(machine, script)).toMatch(/^[1-9]/);
});

/** A program of 32 bits that exits with code 42: its ELF header, one segment, and three instructions. */
function exit42(): Buffer {
  const base = 0x0804_8000;
  const code = Buffer.from([0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80]);
  const size = 52 + 32 + code.length;
  const head = Buffer.alloc(84);
  head.set([0x7f, 0x45, 0x4c, 0x46, 1, 1, 1]);
  const halves: [number, number][] = [
    [16, 2],
    [18, 3],
    [40, 52],
    [42, 32],
    [44, 1],
  ];
  for (const [at, value] of halves) head.writeUInt16LE(value, at);
  const words: [number, number][] = [
    [20, 1],
    [24, base + 84],
    [28, 52],
    [52, 1],
    [60, base],
    [64, base],
    [68, size],
    [72, size],
    [76, 5],
    [80, 0x1000],
  ];
  for (const [at, value] of words) head.writeUInt32LE(value, at);
  return Buffer.concat([head, code]);
}
