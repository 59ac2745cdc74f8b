// The machine boots with the package installed: the service starts by itself, in order, and finds networks that Neutron makes later.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

const MOUNT = new URL('../../../deploy/systemd/run-netns.mount', import.meta.url);
let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
});
afterAll(() => site?.stop());

/** Shuts down, boots, and makes the tenant's network only when the service already runs. */
async function reboot(): Promise<void> {
  await site.machine.poweroff();
  expect(site.management.slices()).toEqual([]);
  await site.machine.start();
  await site.untilActive('the service runs after the boot');
  expect(await site.machine.sh('ls /run/netns 2>/dev/null || true')).toBe('');
  await site.openNetwork(site.alpha);
  await until('the cluster is published again', () => site.management.slices().length === 1);
  const traffic = await site.load(site.alpha);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
  const cycles = await site.machine.sh('journalctl -b --no-pager | grep -i "ordering cycle" || true');
  expect(cycles).toBe('');
  expect((await site.machine.show('isthmus', 'NRestarts')).NRestarts).toBe('0');
}

test('after a boot the service serves a network that is made later', reboot);

test('run-netns.mount is active before the service and the socket unit, and the service sees later networks through it', async () => {
  site.machine.write('/etc/systemd/system/run-netns.mount', readFileSync(MOUNT, 'utf8'));
  await site.machine.sh('systemctl daemon-reload; systemctl enable run-netns.mount isthmus.socket');
  await reboot();
  // `ip netns add` uses that mount. Without it, it would make one of its own.
  expect(await site.machine.sh('grep -c " /run/netns " /proc/self/mountinfo')).toBe('1');
  expect((await site.machine.show('run-netns.mount', 'ActiveState')).ActiveState).toBe('active');
  const { ActiveEnterTimestampMonotonic: mounted } = await site.machine.show(
    'run-netns.mount',
    'ActiveEnterTimestampMonotonic',
  );
  const { ExecMainStartTimestampMonotonic: started } = await site.machine.show(
    'isthmus',
    'ExecMainStartTimestampMonotonic',
  );
  expect(Number(mounted)).toBeGreaterThan(0);
  expect(Number(mounted)).toBeLessThan(Number(started));
  expect((await site.machine.show('isthmus.socket', 'ActiveState')).ActiveState).toBe('active');
});
