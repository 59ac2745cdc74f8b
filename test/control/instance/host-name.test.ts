// Two hosts with the same name. The boot id identifies a host: the second process sees another boot id through a bind-mounted file.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { mainScript } from '../../support/isthmus.ts';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { until } from '../../support/tcp.ts';

const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  namespace: 'magnum-system',
  name: 'isthmus-net-1',
};
let site: PublishSite;
let first: Isthmus;
let second: Isthmus;
let elsewhere: readonly string[];

beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  const bootId = join(site.management.directory, 'boot-id');
  writeFileSync(bootId, `${randomUUID()}\n`);
  const mounted = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"';
  elsewhere = ['unshare', '--mount', 'sh', '-c', mounted, bootId];
});
afterAll(async () => {
  for (const each of [first, second]) {
    each?.signal('SIGKILL');
    await each?.ended();
  }
  await site.stop();
});

/** The doctor can find a problem, and then its exit code is not 0. */
function doctorBeside(KUBECONFIG: string, within: readonly string[]): Promise<{ stdout: string }> {
  const flags = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--advertise-address', '192.0.2.1'];
  const [command, ...args] = [
    ...within,
    ...[process.execPath, mainScript, 'doctor', '--node-name', 'net-1'],
    ...flags,
  ] as [string, ...string[]];
  const env = { ...process.env, KUBECONFIG };
  return promisify(execFile)(command, args, { timeout: 120_000, env }).catch(
    (error: { stdout: string }) => error,
  );
}

const holder = () => (site.api.store.get(LEASE)?.spec as { holderIdentity?: string })?.holderIdentity;

test('the second host of the same name reports the conflict, and takes nothing from the first', async () => {
  first = await site.instance('net-1');
  await site.published('alpha-net-1');
  const [lease, slice] = [holder(), site.slice('alpha-net-1')?.metadata.resourceVersion];
  second = site.management.instance('net-1');
  second.within = elsewhere;
  await second.start(...FAST);
  await site.problem(
    second,
    /another host also uses the name net-1: net-1\/\w+ \(pid \d+ on .*\), with boot id [0-9a-f-]{36}, is alive/,
  );
  const warnings = () =>
    second.log.filter(({ level, reason }) => level === 'warn' && String(reason).includes('--node-name'));
  await until('the log says so', () => warnings().length > 0);
  expect(warnings()).toHaveLength(1);
  expect((await second.status()).kubernetes?.lease).toBe('not-yet');
  await expect.poll(async () => (await first.status()).kubernetes?.lease).toBe('held');
  expect(holder()).toBe(lease);
  expect(site.slice('alpha-net-1')?.metadata.resourceVersion).toBe(slice);
  // Clients that connect are still served.
  expect(await site.ask(second, site.clusters.alpha)).toContain('alpha');
});

test('the doctor on the second host says what to change', async () => {
  const { KUBECONFIG = '' } = second.environment;
  const { stdout } = await doctorBeside(KUBECONFIG, elsewhere);
  expect(stdout).toMatch(
    /problem {2}node-name +net-1: another host also uses this name: net-1\/\w+ renews the Lease/,
  );
  expect(stdout).toContain('Give each host a host name, or a --node-name, of its own');
});

test('the second host gives up and names the first', async () => {
  expect(await second.ended(120_000)).toBe(10);
  const fatal = second.log.find(({ level }) => level === 'fatal');
  expect(fatal?.reason).toMatch(
    /^another host also uses the name net-1: net-1\/\w+ \(pid \d+ on .*\), with boot id /,
  );
});

test('the doctor beside a superseded process on the same host reports the conflict and what to change', async () => {
  const rival = await site.instance('net-1', '--take-over');
  // The log shows it. The process then drains and stops answering when the drain ends.
  await until('the first has lost the Lease', () =>
    first.log.some(({ msg }) => msg.startsWith('superseded: another process holds the Lease')),
  );
  const { KUBECONFIG = '' } = first.environment;
  const { stdout } = await doctorBeside(KUBECONFIG, []);
  rival.signal('SIGKILL');
  await rival.ended();
  expect(stdout).toMatch(
    /problem {2}node-name +net-1: another isthmus on this host uses this name too: net-1\/\w+ renews the Lease/,
  );
  expect(stdout).toContain('Let one of them run');
  await first.ended();
  first = await site.instance('net-1');
});

test('a restart on the first host is no conflict: the process gets its Lease back at once', async () => {
  const before = holder();
  first.signal('SIGKILL');
  await first.ended();
  first = await site.instance('net-1');
  await until('it holds the Lease', () => holder() !== before, 20_000); // another host would have to wait 30 s for the Lease
  await until('and says so', async () => (await first.status()).kubernetes?.lease === 'held');
});

test('when the first host stops gracefully, the second may take its place', async () => {
  first.signal('SIGTERM');
  expect(await first.ended()).toBe(0);
  second = site.management.instance('net-1');
  second.within = elsewhere;
  await second.start(...FAST);
  await until('it holds the Lease', async () => (await second.status()).kubernetes?.lease === 'held');
  await site.published('alpha-net-1');
  await site.untilWell(second);
});
