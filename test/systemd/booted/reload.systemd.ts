// `systemctl reload` while clients are served: the next process takes over, and no client notices.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

const ROUNDS = 3;
let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
});
afterAll(() => site?.stop());

test(`${ROUNDS} reloads under load lose no new and no long-lived connection`, async () => {
  const traffic = await site.load(site.alpha);
  const pids = new Set([await site.mainPid()]);
  for (let round = 0; round < ROUNDS; round += 1) {
    await site.machine.sh('systemctl reload isthmus');
    pids.add(await site.mainPid());
    await traffic.goesOn(20);
  }
  await traffic.stop();
  console.log(
    `${ROUNDS} reloads: ${traffic.visits} new connections, ${traffic.answers} answers on long-lived ones`,
  );
  expect(traffic.problems).toEqual([]);
  expect(pids.size).toBe(ROUNDS + 1);
  expect(await site.machine.show('isthmus', 'ActiveState', 'NRestarts')).toEqual({
    ActiveState: 'active',
    NRestarts: '0',
  });
});

test('a reload reads the changed settings file', async () => {
  site.set(['ISTHMUS_LOG_LEVEL=debug']);
  await site.machine.sh('systemctl reload isthmus');
  const environment = await site.machine.sh(`tr '\\0' '\\n' </proc/${await site.mainPid()}/environ`);
  expect(environment.split('\n')).toContain('ISTHMUS_LOG_LEVEL=debug');
});

test('a reload with a wrong setting fails, names it, and the process before continues to serve', async () => {
  const traffic = await site.load(site.alpha);
  const before = await site.mainPid();
  site.set(['ISTHMUS_MAX_CONNECTIONS=many']);
  expect((await site.machine.run('systemctl', 'reload', 'isthmus')).status).not.toBe(0);
  expect(await site.mainPid()).toBe(before);
  await until('the journal names the setting', async () =>
    (await site.machine.journal()).some(({ MESSAGE }) => /ISTHMUS_MAX_CONNECTIONS.*many/.test(MESSAGE ?? '')),
  );
  site.set([]);
  await site.machine.sh('systemctl reload isthmus');
  await traffic.goesOn(10);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
});
