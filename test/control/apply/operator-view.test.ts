// What an operator sees of a running instance: status, explain, metrics and doctor of the built program against the in-memory API.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Explanation } from '../../../src/telemetry/status/explanation.ts';
import { mainScript } from '../../support/isthmus.ts';
import { Management } from '../../support/kubernetes/management.ts';
import { WAIT_MS } from '../../support/tcp.ts';
import { traced } from '../../support/traced.ts';
import { ADDRESS, TwoClusters } from '../../support/two-clusters.ts';

const clusters = new TwoClusters();
let management: Management;
let isthmus: ReturnType<Management['instance']>;

beforeAll(async () => {
  await clusters.start();
  management = await Management.start();
  isthmus = management.instance('net-1');
  await isthmus.start(
    ...['--advertise-address', '192.0.2.1', '--health-interval', '200ms', '--propagation-wait', '300ms'],
  );
  management.addCluster({ ...clusters.alpha, address: ADDRESS });
  management.addCluster({ name: 'far', networkId: randomUUID(), address: ADDRESS });
  management.addCluster({ name: 'public', networkId: randomUUID(), address: ADDRESS, floatingIp: true });
  await vi.waitFor(
    async () => {
      expect((await isthmus.get('/explain/alpha')).body).toMatch(/^alpha is reachable through net-1\n/);
      const { clusters: known, kubernetes, problems } = await isthmus.status();
      expect(known.map(({ name, state }) => [name, state])).toEqual([
        ['alpha', 'serving'],
        ['far', 'no-netns'],
        ['public', 'not-proxied'],
      ]);
      expect(known[0]?.publication).toMatchObject({
        slice: 'ready',
        readyInstances: 1,
        kubeconfig: 'proxied',
      });
      expect(problems).toEqual([]);
      // The Kubernetes status arrives once a second, which is later than the first served client.
      expect(kubernetes).toMatchObject({ lease: 'held', instances: 1 });
      expect(await metric('isthmus_kubernetes_lease_held')).toBe(1);
      expect(await metric('isthmus_kubernetes_instances')).toBe(1);
    },
    { timeout: WAIT_MS, interval: 100 },
  );
});
afterAll(async () => {
  await management.stop();
  await clusters.stop();
});

/** Not spawnSync: the API server that the command calls runs in this process. */
function run(...args: string[]): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve, reject) => {
    const [command, ...rest] = traced(process.execPath, mainScript, ...args);
    const child = spawn(command, rest, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...isthmus.environment },
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      out += part;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out }));
  });
}
const admin = (): string[] => ['--admin', `127.0.0.1:${isthmus.adminPort}`];

async function metric(name: string): Promise<number> {
  const { body } = await isthmus.get('/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
}

test('isthmus status shows the connection to Kubernetes, and how each cluster is published', async () => {
  const { code, out } = await run('status', ...admin());
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Kubernetes https:\/\/127\.0\.0\.1:\d+: Lease held, 1 live instance \(seen by lease\)$/m,
  );
  expect(out).toMatch(
    /^ {2}alpha +serving +ready +proxied +10\.0\.0\.5:6443 in qdhcp-[0-9a-f]{8}-…, \d+ conn/m,
  );
  expect(out).toMatch(/^ {2}far +no-netns +absent +unread/m);
  expect(out).not.toContain('token-of-net-1');
  for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
});

test('isthmus top shows the Kubernetes status, and which clusters this instance publishes', async () => {
  const { code, out } = await run('top', '--interval', '200ms', '--sort', 'name', ...admin());
  expect(code).toBe(0);
  expect(out).toMatch(/^Kubernetes: Lease held, 1 live instance, 1 cluster published here$/m);
  expect(out).toMatch(/^3 clusters: 1 serving, 1 no-netns, 1 not-proxied; 0 problems; control loop /m);
  expect(out).toMatch(
    /^alpha +serving +\d+ +[\d.]+ .* 1\/1 +qdhcp-.*\nfar +no-netns .*\npublic +not-proxied /m,
  );
});

describe('isthmus explain', () => {
  test('finds every link of a published cluster ok', async () => {
    const { code, out } = await run('explain', 'alpha', ...admin());
    expect(out).not.toContain('BROKEN');
    expect(out).toMatch(/^ {2}ok +kubeconfig +Secret alpha-kubeconfig points to the Service$/m);
    expect(code).toBe(0);
  });

  test.each([
    ['far', 'netns'],
    ['public', 'proxied'],
  ])('names the first broken link of %s: %s', async (name, link) => {
    const { code, out } = await run('explain', '--json', name, ...admin());
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ reachable: false, broken: { link } });
    expect(await isthmus.get(`/explain/${name}?format=json`)).toMatchObject({ status: 200, body: out });
  });

  test('answers an unknown name with 404 and the nearest name', async () => {
    const { status, body } = await isthmus.get('/explain/alhpa');
    expect(status).toBe(404);
    expect(body).toContain('did you mean alpha?');
    const { code, out } = await run('explain', 'alhpa', ...admin());
    expect([code, out]).toEqual([1, body]);
  });
});

test('metrics show the Kubernetes status', async () => {
  expect(await metric('isthmus_kubernetes_lease_held')).toBe(1);
  expect(await metric('isthmus_kubernetes_instances')).toBe(1);
  expect(await metric('isthmus_kubernetes_stale_seconds')).toBe(0);
  expect(await metric('isthmus_published_clusters')).toBe(1);
  expect(await metric('isthmus_mass_delete_stopped')).toBe(0);
  expect(await metric('isthmus_problems')).toBe(0);
  expect(await metric('isthmus_kubernetes_requests_total{verb="watch"}')).toBeGreaterThan(3);
});

test('the log warns once that this instance does not listen at the address of its slices', () => {
  expect(isthmus.log.filter(({ msg }) => msg.startsWith('clients connect to'))).toEqual([
    expect.objectContaining({
      level: 'warn',
      msg: 'clients connect to 192.0.2.1 (from --advertise-address), but this instance listens at 127.0.0.1 only',
      fix: expect.stringContaining('--listen'),
    }),
  ]);
});

test('isthmus doctor finds that the running isthmus holds its ports and its Lease', async () => {
  const flags = ['--listen', `127.0.0.1:${isthmus.port}`, '--advertise-address', '192.0.2.1', ...admin()];
  const { out } = await run('doctor', ...flags);
  expect(out).toMatch(/^ok +listen +127\.0\.0\.1:\d+ is taken by the isthmus that runs here$/m);
  expect(out).toMatch(/^ok +admin +127\.0\.0\.1:\d+ is taken by the isthmus that runs here$/m);
  expect(out).toMatch(/^ok +node-name +net-1: its Lease is held by the isthmus that runs here$/m);
  expect(out).toMatch(/^ok +rights +all \d+ needed rights are granted$/m);
});

test('an unreachable API shows in status, explain and metrics, and the cluster stays reachable', async () => {
  await management.api.stop();
  await expect.poll(() => metric('isthmus_kubernetes_stale_seconds')).toBeGreaterThan(0);
  await expect.poll(() => metric('isthmus_problems')).toBeGreaterThan(0);
  expect((await run('status', ...admin())).out).toMatch(/^ {2}no update since \d{4}-/m);
  const explanation = JSON.parse((await isthmus.get('/explain/alpha?format=json')).body) as Explanation;
  expect(explanation).toMatchObject({
    reachable: true,
    notes: [expect.stringContaining('the Kubernetes API has been stale since')],
  });
});
