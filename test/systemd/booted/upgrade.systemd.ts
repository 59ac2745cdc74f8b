// apt installs the next version, and the one before again, while clients are served, and a restart keeps new clients waiting. Then the
// package goes, and leaves nothing behind.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';
import { FIRST, NEXT } from './machine.ts';

/** Interfaces of the kernel. */
const OTHERS = ['/proc', '/sys', '/dev'];
/** What dpkg, apt, systemd and the journal write by themselves: here a path may be new if it does not name Isthmus. */
const BY_THE_SYSTEM =
  /^\/(var\/(cache|lib)\/apt\/|var\/log\/(apt\/|dpkg\.log$)|(run|var)\/log\/journal\/|run\/systemd\/|var\/lib\/systemd\/|etc\/(passwd|group|g?shadow)-$)/;

let site: BootedSite;
let alpha: Tenant;
let before: string[] = [];
beforeAll(async () => {
  site = await BootedSite.start();
  alpha = await site.addTenant('alpha');
  before = await paths();
  await site.install();
  site.configure();
  await site.machine.sh('systemctl start isthmus');
});
afterAll(() => site?.stop());

async function paths(): Promise<string[]> {
  const prune = OTHERS.map((path) => `-path ${path}`).join(' -o ');
  return (await site.machine.sh(`find / \\( ${prune} \\) -prune -o -print | sort`)).split('\n');
}

test.each([
  ['an upgrade', NEXT, '+next'],
  ['a downgrade', FIRST, ''],
  ['an upgrade after the downgrade', NEXT, '+next'],
])('%s by apt loses no new and no long-lived connection', async (title, deb, suffix) => {
  const traffic = await site.load(alpha);
  const pid = await site.mainPid();
  const text = await site.install(deb);
  expect(text).not.toContain('continues to serve');
  expect(await site.mainPid()).not.toBe(pid);
  const { version } = JSON.parse(await site.machine.sh('isthmus status --json')) as { version: string };
  expect(version.endsWith('+next')).toBe(suffix === '+next');
  await traffic.goesOn(20);
  await traffic.stop();
  console.log(`${title}: ${traffic.visits} new connections, ${traffic.answers} answers on long-lived ones`);
  expect(traffic.problems).toEqual([]);
  expect(await site.machine.show('isthmus', 'ActiveState', 'NRestarts')).toEqual({
    ActiveState: 'active',
    NRestarts: '0',
  });
});

test('with the socket unit, a restart refuses and cuts no client: new clients wait until the service is back', async () => {
  await site.machine.sh(
    'systemctl enable isthmus.socket; systemctl stop isthmus; systemctl start isthmus.socket isthmus',
  );
  const traffic = await site.load(alpha, { residents: 0 });
  for (let round = 0; round < 2; round += 1) {
    const pid = await site.mainPid();
    const started = Date.now();
    await site.machine.sh('systemctl restart isthmus');
    console.log(`a restart with the socket unit took ${Date.now() - started} ms`);
    expect(await site.mainPid()).not.toBe(pid);
    await traffic.goesOn(20);
  }
  await traffic.stop();
  console.log(`2 restarts: ${traffic.visits} new connections, ${traffic.problems.length} lost`);
  expect(traffic.problems).toEqual([]);
});

test('apt remove withdraws the cluster and stops the service and the socket unit', async () => {
  await site.machine.sh('apt-get remove -y isthmus');
  await until('the slice is withdrawn', () => site.management.slices().length === 0);
  for (const unit of ['isthmus.service', 'isthmus.socket'])
    expect((await site.machine.show(unit, 'ActiveState')).ActiveState).toBe('inactive');
});

test('apt purge leaves the user, as Debian asks, and nothing else', async () => {
  await site.machine.sh('apt-get purge -y isthmus');
  const after = await paths();
  const added = after.filter((path) => !before.includes(path));
  expect(added.filter((path) => path.includes('isthmus') || !BY_THE_SYSTEM.test(path))).toEqual([]);
  expect(await site.machine.sh('getent passwd isthmus')).toMatch(/^isthmus:/);
  const { LoadState } = await site.machine.show('isthmus', 'LoadState');
  expect(LoadState).toBe('not-found');
  expect(await site.machine.sh('systemctl list-units --all --no-legend "*isthmus*"')).toBe('');
  expect(await site.machine.sh('find /sys/fs/cgroup -name "*isthmus*"')).toBe('');
  expect(site.management.names('coordination.k8s.io/v1', 'Lease')).toEqual([]);
});
