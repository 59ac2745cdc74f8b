// A second process with the node name of a working one. Without a reason it replaces nothing and ends; with one it replaces the first.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { rules } from '../../support/kubernetes/access-rules.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip, makeNetns } from '../../support/network/netns.ts';
import { NotifyReceiver } from '../../support/notify-receiver.ts';
import { until } from '../../support/tcp.ts';

const NODE = 'net-1';
const SLICE = `alpha-${NODE}`;
/** The API server listens here, so that a process in another netns of the machine reaches it too. */
const HOST = '198.18.77.1';
const LEASE_END_MS = 60_000;
/** Far less than the 30 s until a Lease runs out, and enough for the start of a process on a loaded machine. */
const WITHOUT_WAITING_MS = 10_000;
const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  namespace: 'magnum-system',
  name: `isthmus-${NODE}`,
};

let site: PublishSite;
let netns: ReturnType<typeof makeNetns>;
let notify: NotifyReceiver;
beforeAll(async () => {
  netns = makeNetns();
  ip('link', 'add', 'take-over', 'type', 'veth', 'peer', 'name', 'inside', 'netns', netns.name);
  ip('address', 'add', `${HOST}/30`, 'dev', 'take-over');
  ip('link', 'set', 'take-over', 'up');
  ip('-n', netns.name, 'address', 'add', '198.18.77.2/30', 'dev', 'inside');
  ip('-n', netns.name, 'link', 'set', 'inside', 'up');
  site = await PublishSite.start({ host: HOST });
  notify = await NotifyReceiver.start(join(site.management.directory, 'notify.sock'));
  site.add(site.clusters.alpha);
});
afterAll(async () => {
  await notify.stop();
  await site.stop();
  netns.remove();
});

// The next test finds a Lease whose holder is dead.
afterEach(async () => {
  for (const isthmus of site.management.instances) await isthmus.stop();
});

const holder = () => (site.api.store.get(LEASE)?.spec as { holderIdentity?: string })?.holderIdentity;
const reason = ({ log }: Isthmus) => log.find(({ msg }) => msg.startsWith('took the Lease over'))?.reason;
async function took(isthmus: Isthmus): Promise<unknown> {
  await until('it logs why it took the Lease', () => reason(isthmus) !== undefined);
  return reason(isthmus);
}
const pod = (generation: number) => ({ ISTHMUS_DAEMONSET: `isthmus/isthmus:${generation}` });

async function holding(environment: Record<string, string> = {}): Promise<Isthmus> {
  const isthmus = site.management.instance(NODE);
  Object.assign(isthmus.environment, environment);
  const before = holder();
  await isthmus.start(...FAST);
  await until('it holds the Lease', () => holder() !== before);
  await site.published(SLICE);
  return isthmus;
}

function newcomer(environment: Record<string, string>, within: readonly string[] = []): Isthmus {
  const isthmus = site.management.instance(NODE);
  Object.assign(isthmus.environment, environment);
  isthmus.within = within;
  return isthmus;
}

/** Starts a process, and returns after how long it took the Lease. */
async function taking(isthmus: Isthmus): Promise<number> {
  const before = holder();
  const takenAt = site.watch(() => (holder() === before ? null : performance.now()));
  const startedMs = performance.now();
  await isthmus.start(...FAST);
  await until('it holds the Lease', () => takenAt.length > 0);
  return (takenAt[0] as number) - startedMs;
}

async function killed(isthmus: Isthmus): Promise<void> {
  isthmus.signal('SIGKILL');
  await isthmus.ended();
}

describe('without a reason to replace it', () => {
  test('a second process changes nothing, and ends with code 10 and the name of the holder', async () => {
    const first = await holding(pod(7));
    await until('it writes nothing more', () =>
      site.management.kubeconfig('alpha').includes('magnum-system'),
    );
    await site.atRest(1500, NODE);
    const before = { holder: holder(), slice: site.slice(SLICE)?.metadata.resourceVersion };
    const changes = site.watch(() => {
      const now = { holder: holder(), slice: site.slice(SLICE)?.metadata.resourceVersion };
      return JSON.stringify(now) === JSON.stringify(before) ? null : now;
    });
    const noDirectory = { ISTHMUS_LOCK_DIR: `${site.management.directory}/lock-elsewhere` };
    const intruders = [
      newcomer(noDirectory, ['ip', 'netns', 'exec', netns.name]),
      newcomer({}), // it sees the mark of the holder
      newcomer({ ...noDirectory, ...pod(6) }),
      newcomer({ ...noDirectory, ISTHMUS_DAEMONSET: 'isthmus/other:8' }),
    ];
    for (const { environment } of intruders) environment.NOTIFY_SOCKET = notify.address;
    const started = intruders.map((each) => each.start(...FAST));
    await Promise.all(started);
    const codes = await Promise.all(intruders.map((each) => each.ended(LEASE_END_MS)));
    expect(codes).toEqual([10, 10, 10, 10]);
    // With READY=1 before the refusal, `systemctl start` would succeed, and the unit would fail seconds later.
    await notify.until('the reason', ({ fields }) => /^not ready: lease: /.test(fields.STATUS ?? ''));
    expect(notify.all.filter(({ fields }) => fields.READY !== undefined)).toEqual([]);
    for (const { log } of intruders) {
      const fatal = log.find(({ level }) => level === 'fatal');
      expect(fatal?.msg).toBe('refused: another process holds the Lease of this node, and stays alive');
      expect(fatal?.reason).toContain(`${before.holder} (pid ${first.pid} on `);
      expect(fatal?.reason).toContain('--take-over');
    }
    expect(changes).toEqual([]);
    expect(first.log.filter(({ msg }) => msg.startsWith('superseded'))).toEqual([]);
    expect(await site.ask(first, site.clusters.alpha)).toContain('alpha');
    expect((await first.get('/readyz')).status).toBe(200);
  });

  test('a newer Pod that cannot serve every published cluster is not ready, and does not replace the older one', async () => {
    await holding(pod(7));
    const before = holder();
    const younger = newcomer({ ...pod(8), ISTHMUS_LOCK_DIR: `${site.management.directory}/lock-pod` });
    await younger.start(...FAST, '--netns-dir', younger.directory);
    const lines = async () => (await younger.get('/readyz?verbose')).body;
    await expect.poll(lines).toContain('[+]first-health-checks ok');
    await expect.poll(lines).toMatch(/^\[-]lease failed: /m);
    expect(holder()).toBe(before);
    expect(site.isReady(SLICE)).toBe(true);
  });
});

describe('with a reason', () => {
  test('a process that starts after kill -9 takes the Lease without waiting for its expiry', async () => {
    await killed(await holding());
    const second = newcomer({});
    const tookMs = await taking(second);
    console.log(`restart after kill -9: the new process has the Lease after ${Math.round(tookMs)} ms`);
    expect(await took(second)).toBe('dead');
    expect(tookMs).toBeLessThan(WITHOUT_WAITING_MS);
  });

  test('a process that starts after a stop takes the Lease without waiting, even if the stopped one could not delete it', async () => {
    const first = await holding();
    site.api.access.set(`system:isthmus:${NODE}`, rules({ verb: 'delete', resource: 'leases' }));
    first.signal('SIGTERM');
    expect(await first.ended()).toBe(0);
    expect(site.api.store.get(LEASE)).not.toBeNull();
    const second = newcomer({}); // it has all rights again
    expect(await taking(second)).toBeLessThan(WITHOUT_WAITING_MS);
    expect(await took(second)).toBe('dead');
  });

  test('a process with --take-over replaces a live one, which ends with code 10', async () => {
    const first = await holding();
    const second = await holding({ ISTHMUS_TAKE_OVER: 'true' });
    expect(await took(second)).toBe('take-over');
    expect(await first.ended()).toBe(10);
    expect(site.isReady(SLICE)).toBe(true);
  });

  test('of two processes that start after a crash, one gets the Lease', async () => {
    await killed(await holding());
    const before = holder();
    const both = [newcomer({}), newcomer({})];
    await Promise.all(both.map((each) => each.start(...FAST)));
    await until('one holds the Lease', () => holder() !== before);
    await until('it says so', () => both.some((each) => reason(each) === 'dead'));
    const winner = both.find((each) => reason(each) === 'dead');
    const loser = both.find((each) => each !== winner);
    const now = holder();
    expect(await loser?.ended(LEASE_END_MS)).toBe(10);
    expect(holder()).toBe(now);
    expect(site.isReady(SLICE)).toBe(true);
  });

  // The last test: its holder has its mark in another directory, so the next process would wait for the expiry of the Lease.
  test('a newer Pod of the same DaemonSet replaces the older one', async () => {
    const older = await holding(pod(7));
    const younger = await holding({ ...pod(8), ISTHMUS_LOCK_DIR: `${site.management.directory}/lock-pod` });
    expect(await took(younger)).toBe('daemonset');
    expect(await older.ended()).toBe(10);
    expect(site.isReady(SLICE)).toBe(true);
  });
});
