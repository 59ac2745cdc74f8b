// What clients see when the process dies or hangs: the socket unit holds the port, and systemd starts the process again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

/** The work takes less than 1 s. The clients and the API of this test run on the same processors. A Lease runs out after 30 s. */
const LEASE_MS = 5000;

let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
  await site.machine.sh(
    'systemctl enable isthmus.socket; systemctl stop isthmus; systemctl start isthmus.socket isthmus',
  );
});
afterAll(() => site?.stop());

interface Takeover {
  readonly reason: string;
  /** From the start of the process. systemd and the journal use the same clock. */
  readonly afterMs: number;
}

/** How the main process of the service got the Lease from the process before it. */
async function takeover(): Promise<Takeover> {
  const { MainPID, ExecMainStartTimestampMonotonic: startedUs } = await site.machine.show(
    ...(['isthmus', 'MainPID', 'ExecMainStartTimestampMonotonic'] as const),
  );
  const taken = async () =>
    (await site.machine.journal()).find(
      ({ _PID, MESSAGE = '' }) => _PID === MainPID && MESSAGE.startsWith('took the Lease over from '),
    );
  await until('the journal tells that it took the Lease', async () => (await taken()) !== undefined);
  const { MESSAGE = '', __MONOTONIC_TIMESTAMP: takenUs } = (await taken()) ?? {};
  const { reason } = JSON.parse(MESSAGE.slice(MESSAGE.indexOf('{'))) as { reason: string };
  return { reason, afterMs: Math.round((Number(takenUs) - Number(startedUs)) / 1000) };
}

test('kill -9 refuses no client: the socket unit keeps the port, and waiting clients are served after the restart', async () => {
  const traffic = await site.load(site.alpha, { residents: 0 });
  for (let round = 1; round <= 2; round += 1) {
    const before = await site.mainPid();
    await site.machine.sh(`kill -KILL ${before}`);
    await until('systemd has started it again', async () => ![0, before].includes(await site.mainPid()));
    await site.untilActive('it serves again');
    await traffic.goesOn(20);
    expect((await site.machine.show('isthmus', 'NRestarts')).NRestarts).toBe(String(round));
    const { reason, afterMs } = await takeover();
    console.log(
      `kill ${round}: the next process took the Lease ${afterMs} ms after its start, because it is ${reason}`,
    );
    expect(reason).toBe('dead');
    expect(afterMs).toBeLessThan(LEASE_MS);
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
