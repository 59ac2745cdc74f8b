// Additional TLS listeners on the built program, whose clients name the Service of the listener. They lead through real namespaces to two
// machines while machines and labels change, and while the cluster's own API server is dead.
import { get } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Isthmus } from '../../support/isthmus.ts';
import { NAMESPACE } from '../../support/kubernetes/management.ts';
import { PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { until } from '../../support/tcp.ts';

const MACHINES = { blue: '10.0.0.11', green: '10.0.0.12' } as const;
const PORT = 8443;
const SPEC = {
  clusterName: 'alpha',
  port: 443,
  targetPort: PORT,
  protocol: 'TLS',
  selector: { matchLabels: { app: 'redis' } },
  rolloutLabels: { generation: 'blue' },
};
const SERVICE = 'alpha-web';
const SLICE = 'alpha-web-net-1';

let site: PublishSite;
let isthmus: Isthmus;
const servers = new Map<string, NetnsServer>();

async function serve(name: keyof typeof MACHINES): Promise<void> {
  const { netns, certificate } = site.clusters.alpha;
  const { certFile, keyFile } = certificate;
  const args = ['https', MACHINES[name], String(PORT), name, certFile, keyFile];
  servers.set(name, await NetnsServer.start(netns, ...args));
}

/** The machine that answers, or the reason why none does. */
const ask = (service = SERVICE): Promise<string> =>
  new Promise((resolve) => {
    const servername = `${service}.${NAMESPACE}`;
    const options = {
      host: '127.0.0.1',
      port: isthmus.port,
      servername,
      rejectUnauthorized: false,
      agent: false,
    };
    get(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text.replace('I am ', '').trim()));
    }).on('error', (error) => resolve(error.message));
  });
const untilAnswered = (name: string) => expect.poll(() => ask(), { interval: 20 }).toBe(name);
const ready = (listener = 'web') => site.management.conditions(listener).Ready;

beforeAll(async () => {
  site = await PublishSite.start();
  site.add(site.clusters.alpha);
  for (const address of Object.values(MACHINES))
    ip('-n', site.clusters.alpha.netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
  await serve('blue');
  await serve('green');
  for (const [name, address] of Object.entries(MACHINES))
    site.management.addMachine(name, 'alpha', address, { app: 'redis', generation: name });
  isthmus = await site.instance('net-1', '--ignored-selector-labels', 'generation');
});
afterAll(async () => {
  for (const server of servers.values()) await server.stop();
  await site.stop();
});

describe('a TLS listener', () => {
  test('gets its own Service and slice, and leads to the machine that it selects', async () => {
    site.management.addListener('web', SPEC);
    await site.published(SLICE);
    expect(site.management.get('v1', 'Service', SERVICE)).toMatchObject({
      metadata: {
        labels: { 'isthmus.dev/resource-owner': 'alpha', 'isthmus.dev/listener-service': SERVICE },
        annotations: { 'isthmus.dev/listener': `${NAMESPACE}/web` },
      },
      spec: { ports: [{ name: 'listener', port: 443 }] },
    });
    expect(site.slice(SLICE)).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': SERVICE } },
      ports: [{ name: 'listener', port: isthmus.port }],
    });
    expect(await ask()).toBe('blue');
  });

  test('reports its conditions once, and then writes nothing more', async () => {
    await until('its status says so', () => ready()?.status === 'True');
    expect(site.management.get('isthmus.dev/v1alpha1', 'AdditionalListener', 'web')?.status).toMatchObject({
      observedGeneration: 1,
      serviceName: SERVICE,
      members: 2,
      ready: 1,
      notReady: 0,
      ignored: 1,
    });
    await site.atRest(3000, 'net-1');
  });

  test('works while the API server of its cluster is down', async () => {
    await site.clusters.servers.get('alpha')?.stop();
    await isthmus.untilState('alpha', 'unhealthy');
    expect(await ask()).toBe('blue');
    expect(site.isReady(SLICE)).toBe(true);
    await site.clusters.serve(site.clusters.alpha);
    await isthmus.untilState('alpha', 'serving');
  });

  test('is promoted without a failed request, by its own label and by a label of a machine', async () => {
    const answers: string[] = [];
    let going = true;
    const load = Array.from({ length: 4 }, async () => {
      while (going) answers.push(await ask());
    });
    const promote = async (what: string, to: string, change: () => void) => {
      const start = performance.now();
      change();
      await until(`${to} answers`, () => answers.at(-1) === to);
      console.log(`${what}: ${(performance.now() - start).toFixed(0)} ms to the first answer of ${to}`);
      const enough = answers.length + 50;
      await until('50 further answers', () => answers.length >= enough);
    };
    const relabel = (blue: string, green: string) => () => {
      site.management.labelMachine('green', { generation: green });
      site.management.labelMachine('blue', { generation: blue });
    };
    await promote("the listener's label", 'green', () =>
      site.management.patchListener('web', { rolloutLabels: { generation: 'green' } }),
    );
    await promote('and back', 'blue', () =>
      site.management.patchListener('web', { rolloutLabels: { generation: 'blue' } }),
    );
    await promote("the machines' labels", 'green', relabel('old', 'blue'));
    await promote('and back', 'blue', relabel('blue', 'green'));
    going = false;
    await Promise.all(load);
    expect(answers.filter((name) => name !== 'blue' && name !== 'green')).toEqual([]);
    expect(answers.length).toBeGreaterThan(20);
    expect(site.isReady(SLICE)).toBe(true);
  });

  test('handles a hundred label changes a second with few turns, and the last change counts', async () => {
    const turns = async () =>
      Number(/isthmus_control_turn_seconds_count (\d+)/.exec((await isthmus.get('/metrics')).body)?.[1]);
    const before = await turns();
    const start = performance.now();
    for (let i = 0; i < 200; i += 1) {
      site.management.labelMachine('green', { storm: String(i) });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const stormMs = performance.now() - start;
    site.management.labelMachine('green', { storm: null, generation: 'blue' });
    site.management.labelMachine('blue', { generation: 'old' });
    // The last change is handled, so the turns of all earlier changes are counted.
    await untilAnswered('green');
    console.log(`200 changes of labels made ${(await turns()) - before} turns`);
    // Changes within 50 ms are handled together: 40 turns if the storm takes exactly its two seconds.
    expect((await turns()) - before).toBeLessThan(80 + stormMs / 50);
    site.management.labelMachine('blue', { generation: 'blue' });
    site.management.labelMachine('green', { generation: 'green' });
    await untilAnswered('blue');
  });

  test('loses its slice when its last machine is deleted', async () => {
    site.management.deleteMachine('blue');
    await until('the slice is gone', () => site.slice(SLICE) === null);
    expect(site.management.services()).toContain(SERVICE);
    await until('its status says so', () => ready()?.reason === 'NoMembers');
    site.management.addMachine('blue', 'alpha', MACHINES.blue, { app: 'redis', generation: 'blue' });
    await site.published(SLICE);
    expect(await ask()).toBe('blue');
  });

  test('with a value that is not allowed gets a condition, and serves as before', async () => {
    site.management.patchListener('web', { rolloutLabels: { app: 'other' } });
    await until('it is refused', () => site.management.conditions('web').Accepted?.status === 'False');
    expect(site.management.conditions('web').Accepted?.message).toContain('--ignored-selector-labels');
    expect(await ask()).toBe('blue');
    await until('an Event reports it', () =>
      site.api.store
        .list({ apiVersion: 'v1', kind: 'Event', namespace: NAMESPACE })
        .some(
          ({ reason, involvedObject }) =>
            reason === 'Invalid' && (involvedObject as { kind?: string }).kind === 'AdditionalListener',
        ),
    );
    site.management.patchListener('web', { rolloutLabels: { app: null, generation: 'blue' } });
    await until('it is accepted', () => site.management.conditions('web').Accepted?.status === 'True');
  });

  test('waits for a cluster that does not exist yet', async () => {
    site.management.addListener('early', {
      ...SPEC,
      clusterName: 'beta',
      selector: { matchLabels: { app: 'x' } },
    });
    await until('it says so', () => ready('early')?.reason === 'Pending');
    expect(ready('early')?.message).toContain('there is no cluster beta');
    expect(site.management.services()).not.toContain('beta-early');
    site.add(site.clusters.beta);
    await until('it has a Service', () => site.management.services().includes('beta-early'));
    site.management.deleteListener('early');
    await until('and none', () => !site.management.services().includes('beta-early'));
  });

  test('is removed step by step when it is deleted', async () => {
    const seen = site.watch(() => {
      const slice = site.slice(SLICE);
      const state = slice === null ? 'no slice' : site.isReady(SLICE) ? 'ready' : 'terminating';
      return `${state}, ${site.management.services().includes(SERVICE) ? 'Service' : 'no Service'}`;
    });
    site.management.deleteListener('web');
    await until('all of it is gone', () => seen.at(-1) === 'no slice, no Service');
    expect([...new Set(seen)]).toEqual([
      'ready, Service',
      'terminating, Service',
      'no slice, Service',
      'no slice, no Service',
    ]);
    await expect.poll(() => ask()).toContain('unrecognized');
    await expect.poll(() => site.management.services().sort()).toEqual(['alpha', 'beta']);
  });
});
