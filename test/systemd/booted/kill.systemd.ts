// What clients see when the process dies or hangs: the socket unit holds the port, and systemd starts the process again.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, NODE, type Tenant } from './booted-site.ts';

const ROUNDS = 3;
/**
 * From the first read of the Lease to the take, in the best round: a restart waits for nothing. The start of Node before that depends on
 * the machine, whose processors the clients and the API of this test share.
 */
const BEST_MS = 1000;
/** From the start of the process, in every round. A Lease runs out after 30 s. */
const EVERY_MS = 10_000;

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

const reads = () => site.management.requestsOf(NODE)['get leases'] ?? 0;
const holder = () =>
  (
    site.management.api.store.get({
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'magnum-system' },
      name: `isthmus-${NODE}`,
    })?.spec as { holderIdentity?: string } | undefined
  )?.holderIdentity;

/** How long the next process takes from its first read of the Lease to the take, as the API sees it. Rounds up. */
function leaseWait(): { readonly ms: () => number; readonly end: () => void } {
  const before = { reads: reads(), holder: holder() };
  let unreadAtMs = performance.now();
  let takenAtMs = Number.NaN;
  const timer = setInterval(() => {
    if (reads() === before.reads) unreadAtMs = performance.now();
    else clearInterval(timer);
  }, 1);
  const unsubscribe = site.management.api.store.subscribe(() => {
    if (Number.isNaN(takenAtMs) && holder() !== before.holder) takenAtMs = performance.now();
  });
  const end = () => {
    clearInterval(timer);
    unsubscribe();
  };
  return { ms: () => Math.ceil(takenAtMs - unreadAtMs), end };
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
  const waits: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const before = await site.mainPid();
    const wait = leaseWait();
    onTestFinished(wait.end);
    await site.machine.sh(`kill -KILL ${before}`);
    await until('systemd has started it again', async () => ![0, before].includes(await site.mainPid()));
    await site.untilActive('it serves again');
    await traffic.goesOn(20);
    expect((await site.machine.show('isthmus', 'NRestarts')).NRestarts).toBe(String(round));
    const { reason, afterMs } = await takeover();
    console.log(
      `kill ${round}: the next process took the Lease ${wait.ms()} ms after its first read of it and ${afterMs} ms after its start, because the holder is ${reason}`,
    );
    expect(reason).toBe('dead');
    expect(afterMs).toBeLessThan(EVERY_MS);
    waits.push(wait.ms());
  }
  expect(Math.min(...waits)).toBeLessThan(BEST_MS);
  await traffic.stop();
  // A connection that the killed process had accepted ends with it. No connection is refused.
  console.log(
    `${ROUNDS} kills: ${traffic.visits} served, ${traffic.problems.length} connections cut: ${traffic.problems.join('; ')}`,
  );
  expect(traffic.problems.filter((problem) => /ECONNREFUSED|waited/.test(problem))).toEqual([]);
  expect(traffic.problems.length).toBeLessThanOrEqual(ROUNDS * 4);
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
