// A reload with a setting that loses every cluster: the next process does not take over, and the process before continues to serve.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
});
afterAll(() => site?.stop());

test('a reload with a wrong ISTHMUS_NETNS_DIR fails, names the setting, and no client loses its cluster', async () => {
  await until('the cluster is published', () => site.management.slices().length === 1);
  const traffic = await site.load(site.alpha);
  const before = await site.mainPid();
  site.set(['ISTHMUS_NETNS_DIR=/run/no-netns']);
  const started = Date.now();
  const { status, stderr } = await site.machine.run('systemctl', 'reload', 'isthmus');
  console.log(`the reload failed after ${Date.now() - started} ms: ${stderr.trim()}`);
  expect(status).not.toBe(0);
  expect(await site.mainPid()).toBe(before);
  expect(await site.machine.show('isthmus', 'ActiveState', 'NRestarts')).toEqual({
    ActiveState: 'active',
    NRestarts: '0',
  });
  await until('the journal names the setting', async () =>
    (await site.machine.journal()).some(({ MESSAGE = '' }) =>
      /publishes alpha, and this process reaches none of them: check --netns-dir/.test(MESSAGE),
    ),
  );
  expect(site.management.slices()).toEqual(['alpha-net-1']);
  // The reload with the corrected setting is not refused because of the one before.
  site.set([]);
  await site.machine.sh('systemctl reload isthmus');
  expect(await site.mainPid()).not.toBe(before);
  await traffic.goesOn(20);
  await traffic.stop();
  console.log(`${traffic.visits} new connections, ${traffic.answers} answers on long-lived ones`);
  expect(traffic.problems).toEqual([]);
});
