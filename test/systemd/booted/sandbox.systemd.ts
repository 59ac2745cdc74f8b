// Every directive of isthmus.service that limits the process, proven by an attempt to do what it forbids.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Limit } from './limit.ts';
import { LIMITS_TRIED } from './limits.ts';
import { BootedMachine } from './machine.ts';
import { LIMITS, PROBE, REMOVED_CALLS, sleepUnderUnit, underUnit } from './probe-unit.ts';

/** Tested below, with more than one script. */
const TRIED_APART = ['RemoveIPC', 'LimitNOFILE', 'RuntimeDirectoryPreserve'];

let machine: BootedMachine;
beforeAll(async () => {
  machine = await BootedMachine.boot();
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

const hasResourceCapability = async (): Promise<boolean> => {
  const [, set = '0'] = /^CapBnd:\s*(\w+)$/m.exec(await machine.sh('cat /proc/1/status')) ?? [];
  return ((BigInt(`0x${set}`) >> 24n) & 1n) === 1n;
};

/** Whether this machine can enforce a directive, found without the unit. */
const has: Readonly<Record<NonNullable<Limit['needs']>, () => Promise<boolean>>> = {
  CAP_SYS_RESOURCE: hasResourceCapability,
  'device filter': async () => {
    const { status } = await machine.run(
      ...['systemd-run', '--quiet', '--wait', '-p', 'DevicePolicy=strict', 'sh', '-c', ': <>/dev/probe'],
    );
    return status !== 0;
  },
  'pids controller': async () =>
    (await machine.sh('cat /sys/fs/cgroup/cgroup.controllers')).split(' ').includes('pids'),
};

/** The value that systemd would enforce, with and without the directive. */
async function shownValues({ directive, beside = [] }: Limit): Promise<readonly (string | undefined)[]> {
  const values: (string | undefined)[] = [];
  for (const without of [beside, [...beside, directive]]) {
    await underUnit(machine, 'true', without);
    values.push((await machine.show(PROBE, directive))[directive]);
  }
  return values;
}

test('each directive that limits the process has an attempt to break it', () => {
  const tried = new Set([...LIMITS_TRIED.map(({ directive }) => directive), ...TRIED_APART]);
  expect(LIMITS.filter((name) => !tried.has(name))).toEqual([]);
});

test('each group of system calls that the unit removes has an attempt', () => {
  const tried = new Set(LIMITS_TRIED.map(({ group }) => group));
  expect(REMOVED_CALLS.length).toBeGreaterThan(4);
  expect(REMOVED_CALLS.filter((group) => !tried.has(group))).toEqual([]);
});

for (const limit of LIMITS_TRIED) {
  const { directive, tries, script, beside = [], forbidden, allowed, needs, shown } = limit;
  const where = needs === undefined ? '' : `, or systemd would stop it on a machine with ${needs}`;
  test(`${directive} stops an attempt ${tries}${where}`, async () => {
    if (needs !== undefined && !(await has[needs]())) {
      const [value, other] = await shownValues(limit);
      expect(value).toBe(shown);
      expect(other).not.toBe(shown);
      console.log(
        `! ${directive}: no ${needs} here. systemd shows ${value}, and ${other} without the directive`,
      );
      return;
    }
    expect(await underUnit(machine, script, beside)).toMatch(forbidden);
    expect(await underUnit(machine, script, [...beside, directive])).toMatch(allowed);
  });
}

test('the process can write only to its runtime directory, and where every user can', async () => {
  // As postinst makes it. systemd would give a directory that it makes itself to the user of the unit.
  await machine.sh('rm -rf /etc/isthmus-probe; install -d -o root -g isthmus -m 0750 /etc/isthmus-probe');
  await sleepUnderUnit(machine);
  const { MainPID } = await machine.show(PROBE, 'MainPID');
  machine.write(
    '/opt/list-writable.sh',
    `find / -path /proc -prune -o -type d -writable -print 2>/dev/null | sort | while read -r at
do touch "$at/probe" 2>/dev/null && rm "$at/probe" && echo "$at"
done; true`,
  );
  const as = 'setpriv --reuid isthmus --regid isthmus --clear-groups';
  const found = await machine.sh(`nsenter -t ${MainPID} -m ${as} sh /opt/list-writable.sh`);
  await machine.sh(`systemctl stop ${PROBE}; rm -rf /etc/isthmus-probe`);
  const shared = ['/dev/mqueue', '/dev/shm', '/run/lock', '/tmp', '/var/tmp'];
  expect(found.split('\n').sort()).toEqual([...shared, '/run/isthmus-probe'].sort());
});

test('LimitNOFILE raises the number of open files, at most to what the machine allows its systemd', async () => {
  const limits = await machine.sh('cat /proc/1/limits');
  const most = Number(/^Max open files +\d+ +(\d+)/m.exec(limits)?.[1]);
  const wanted = (await hasResourceCapability()) ? 131_072 : Math.min(131_072, most);
  await sleepUnderUnit(machine);
  const { MainPID, LimitNOFILE } = await machine.show(PROBE, 'MainPID', 'LimitNOFILE');
  const applied = await machine.sh(`cat /proc/${MainPID}/limits`);
  await machine.sh(`systemctl stop ${PROBE}`);
  expect(LimitNOFILE).toBe('131072');
  expect(applied).toMatch(new RegExp(`^Max open files +${wanted} +${wanted} `, 'm'));
  if (wanted !== 131_072) console.log(`! LimitNOFILE: this machine allows only ${wanted} of 131072`);
  expect(Number(await underUnit(machine, 'ulimit -Sn', ['LimitNOFILE']))).toBeLessThan(wanted);
});

test('RuntimeDirectoryPreserve keeps the files of the service over a restart, and not over a stop', async () => {
  const kept = async (without: readonly string[]) => {
    await sleepUnderUnit(machine, without);
    await machine.sh(`touch /run/isthmus-probe/file; systemctl restart ${PROBE}`);
    const files = await machine.sh('ls /run/isthmus-probe');
    await machine.sh(`systemctl stop ${PROBE}`);
    return { files, afterStop: await machine.sh('ls /run | grep isthmus-probe || true') };
  };
  expect(await kept([])).toEqual({ files: 'file', afterStop: '' });
  expect(await kept(['RuntimeDirectoryPreserve'])).toEqual({ files: '', afterStop: '' });
});

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
