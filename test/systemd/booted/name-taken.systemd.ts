// Another process holds the Lease of this node, or takes it over: the service ends with exit code 10, says why, and neither systemd nor
// clients start it again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { until } from '../../support/tcp.ts';
import { BootedSite, NODE, type Tenant } from './booted-site.ts';

let site: BootedSite & { readonly alpha: Tenant };
let rival: Isthmus;
beforeAll(async () => {
  site = await BootedSite.serving();
  await site.machine.sh('systemctl stop isthmus');
  // With the same node name, in another network of the same host, without a directory in common.
  rival = site.management.instance(NODE);
  await rival.start();
  await until(
    'the other process holds the Lease',
    async () => (await rival.status()).kubernetes?.lease === 'held',
  );
});
afterAll(() => site?.stop());

const FAILED = { ActiveState: 'failed', Result: 'exit-code', ExecMainStatus: '10', NRestarts: '0' };
const outcome = () => site.machine.show('isthmus', 'ActiveState', 'Result', 'ExecMainStatus', 'NRestarts');

test('the start fails once, with exit code 10, and the journal names the process that holds the Lease', async () => {
  const started = Date.now();
  expect((await site.machine.run('systemctl', 'start', 'isthmus')).status).not.toBe(0);
  console.log(`without the socket unit: the start failed after ${Date.now() - started} ms`);
  expect(await outcome()).toEqual(FAILED);
  expect(await site.exits(10)).toBe(1);
  const named = new RegExp(`also uses the name ${NODE}: .*pid ${rival.pid} `);
  expect((await site.machine.journal()).some(({ MESSAGE = '' }) => named.test(MESSAGE))).toBe(true);
});

test('with the socket unit, clients do not start the service again: the port is closed', async () => {
  await site.machine.sh('systemctl reset-failed isthmus; systemctl start isthmus.socket');
  const before = await site.exits(10);
  // The first client starts the service.
  const traffic = site.traffic(site.alpha);
  traffic.visitors(2);
  await until('the service has ended', async () => (await site.exits(10)) > before);
  await until('clients are refused', () => /ECONNREFUSED/.test(traffic.problems.at(-1) ?? ''));
  await traffic.stop();
  expect(await outcome()).toEqual(FAILED);
  expect(await site.exits(10)).toBe(before + 1);
  expect((await site.machine.show('isthmus.socket', 'ActiveState')).ActiveState).toBe('inactive');
});

test('when the other process has ended, a start of both units serves again', async () => {
  rival.signal('SIGTERM');
  await rival.ended();
  await site.machine.sh('systemctl start isthmus.socket isthmus');
  const traffic = await site.load(site.alpha);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
});

test('a running service ends once when --take-over replaces it, with exit code 10, and the journal names the process that did', async () => {
  const before = await site.exits(10);
  const successor = site.management.instance(NODE);
  await successor.start('--take-over');
  await until('the service has ended', async () => (await site.exits(10)) > before);
  await until('the unit has ended', async () => (await outcome()).ActiveState === 'failed');
  expect(await outcome()).toEqual(FAILED);
  expect(await site.exits(10)).toBe(before + 1);
  // Clients must not start it again.
  expect((await site.machine.show('isthmus.socket', 'ActiveState')).ActiveState).toBe('inactive');
  const { lease } = (await successor.status()).kubernetes ?? {};
  expect(lease).toBe('held');
  const replaced = (await site.machine.journal()).filter(({ MESSAGE = '' }) =>
    MESSAGE.startsWith('superseded'),
  );
  expect(replaced.map(({ MESSAGE }) => MESSAGE)).toEqual([expect.stringMatching(/"holder":"net-1\/\w+"/)]);
});
