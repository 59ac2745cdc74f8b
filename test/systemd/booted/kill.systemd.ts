// What clients see when the process dies or hangs: the socket unit holds the port, and systemd starts the process again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
  await site.machine.sh(
    'systemctl enable isthmus.socket; systemctl stop isthmus; systemctl start isthmus.socket isthmus',
  );
});
afterAll(() => site?.stop());

test('kill -9 refuses no client: the socket unit keeps the port, and waiting clients are served after the restart', async () => {
  const traffic = await site.load(site.alpha, { residents: 0 });
  for (let round = 1; round <= 2; round += 1) {
    const before = await site.mainPid();
    await site.machine.sh(`kill -KILL ${before}`);
    await until('systemd has started it again', async () => ![0, before].includes(await site.mainPid()));
    await site.untilActive('it serves again');
    await traffic.goesOn(20);
    expect((await site.machine.show('isthmus', 'NRestarts')).NRestarts).toBe(String(round));
  }
  await traffic.stop();
  // A connection that the killed process had accepted ends with it. No connection is refused.
  console.log(
    `2 kills: ${traffic.visits} served, ${traffic.problems.length} connections cut: ${traffic.problems.join('; ')}`,
  );
  expect(traffic.problems.filter((problem) => /ECONNREFUSED|waited/.test(problem))).toEqual([]);
  expect(traffic.problems.length).toBeLessThanOrEqual(2 * 4);
});

test('a process that hangs is replaced by the watchdog, and the socket unit refuses no client meanwhile', async () => {
  // The package's two minutes would only make the test slow. A drop-in as `systemctl edit` writes it.
  site.machine.write('/etc/systemd/system/isthmus.service.d/watchdog.conf', '[Service]\nWatchdogSec=6s\n');
  await site.machine.sh('systemctl daemon-reload; systemctl restart isthmus');
  const before = await site.mainPid();
  const traffic = await site.load(site.alpha, { residents: 0 });
  const started = Date.now();
  await site.machine.sh(`kill -STOP ${before}`);
  await until('systemd has replaced it', async () => ![0, before].includes(await site.mainPid()));
  await site.untilActive('it serves again');
  console.log(`the watchdog (6 s) replaced a stopped process in ${Date.now() - started} ms`);
  await traffic.goesOn(20);
  await traffic.stop();
  expect(traffic.problems.filter((problem) => /ECONNREFUSED|waited/.test(problem))).toEqual([]);
  const entries = await site.machine.journal();
  expect(entries.some(({ MESSAGE }) => /Watchdog timeout/.test(MESSAGE ?? ''))).toBe(true);
});
