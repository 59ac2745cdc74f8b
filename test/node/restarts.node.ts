// What stops and starts again on a node while clients connect: kubelet, containerd, the Pod, the program, the node itself. Two nodes reach
// alpha, and net-1 alone reaches beta. Where the documentation promises nothing, the story prints what the clients of beta saw.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lines } from '../e2e/client.ts';
import { NAMESPACE } from '../e2e/workload.ts';
import type { FloodOptions } from '../support/flood.ts';
import { ip } from '../support/network/netns.ts';
import { Bed, NODES, type NodeName } from './bed.ts';
import { type Seen, whileConnected } from './clients.ts';
import { long } from './long.ts';
import { type PodView, Release, SURGE } from './release.ts';

const FLOOD_PROGRAM = fileURLToPath(new URL('../support/flood-main.ts', import.meta.url));
/** As in test/attacks/health-flood.test.ts. It comes from 127.1.0.1 of the node, and the probes from the node's address. */
const FLOOD = { connections: 1000, sources: 1, begin: '', trickle: '', reads: true };

let bed: Bed;
let release: Release;

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
  await bed.addWorkload('beta', ['net-1']);
  await release.install(SURGE);
  await published();
});
afterAll(async () => await bed?.stop());

async function published(): Promise<void> {
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
}

/** What the clients of both clusters saw. */
const seenDuring = (story: string, act: () => Promise<void>): Promise<{ alpha: Seen; beta: Seen }> =>
  whileConnected(bed, { story, clusters: ['alpha', 'beta'] }, act);

const NOTHING_LOST = { failed: {}, cuts: [] };

/** A kubelet that starts counts a Pod as not ready until its first probe. The slices are ours, so clients do not notice. */
async function isUntouched(before: PodView): Promise<void> {
  await release.until('the Pod is ready', async () => (await release.pod(before.node as NodeName)).ready);
  expect(await release.pod(before.node as NodeName)).toMatchObject({
    name: before.name,
    restarts: before.restarts,
  });
}

test('a restart of the kubelet touches neither the Pod nor its clients', async () => {
  const before = await release.pod('net-1');
  const { kubelet } = bed.node('net-1');
  const seen = await seenDuring('kubelet killed and started', async () => {
    await kubelet.stop();
    kubelet.start();
    await bed.untilHeartbeat('net-1');
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await isUntouched(before);
});

long('a restart of containerd touches neither the Pod nor its clients', async () => {
  const before = await release.pod('net-1');
  const { runtime } = bed.node('net-1');
  const seen = await seenDuring('containerd killed and started', async () => {
    await runtime.stop();
    await runtime.start();
    await release.until('commands run in the Pod again', async () => {
      const { code } = await release.exec('net-1', 'status');
      return code === 0;
    });
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await isUntouched(before);
});

long('drain and uncordon of the node leave the Pod alone', async () => {
  const before = await release.pod('net-1');
  const seen = await seenDuring('node drained and uncordoned', async () => {
    await bed.kubectl('drain', 'net-1', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=30s');
    await bed.kubectl('uncordon', 'net-1');
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await isUntouched(before);
});

long('a deleted Pod refuses no client where two nodes reach the cluster', async () => {
  const before = await release.pod('net-1');
  const seen = await seenDuring('Pod deleted', async () => {
    await bed.kubectl('-n', NAMESPACE, 'delete', 'pod', before.name, '--wait=false');
    await release.until('a new Pod is ready', async () => {
      const pod = (await release.pods()).find(({ node, terminating }) => node === 'net-1' && !terminating);
      return pod !== undefined && pod.name !== before.name && pod.ready;
    });
    await published();
  });
  expect(seen.alpha.failed).toEqual({});
});

long('a program that is killed at its memory limit starts again', async () => {
  const { machine, runtime } = bed.node('net-1');
  const before = await release.pod('net-1');
  const seen = await seenDuring('OOM at the memory limit', async () => {
    const pid = await runtime.pid(before.container);
    const group = /^\d+:memory:(.*)$/m.exec(await machine.run('cat', `/proc/${pid}/cgroup`))?.[1];
    // Small programs fill the memory of the container. The largest process, which is Isthmus, is killed.
    const fill =
      'echo 0 >"$1/cgroup.procs"; for i in 1 2 3 4 5 6 7; do (head -c 75M /dev/zero | tail | sleep 20) & done; wait';
    const filling = machine.run('sh', '-c', fill, 'sh', `/sys/fs/cgroup/memory${group}`).catch(() => '');
    await release.until('the kubelet has restarted the container', async () => {
      const pod = await release.pod('net-1');
      return pod.restarts > before.restarts && pod.ready;
    });
    await filling;
    await published();
  });
  expect(await release.pod('net-1')).toMatchObject({ name: before.name, reason: 'OOMKilled' });
  expect(seen.alpha.gapSeconds).toBeLessThan(30);
});

long(
  'a flood of the health port under the limits of the chart does not make the kubelet restart the Pod',
  async () => {
    const { machine } = bed.node('net-1');
    const before = await release.pod('net-1');
    const { spec } = await release.daemonSet();
    const [{ livenessProbe, resources }] = spec.template.spec.containers;
    const { periodSeconds, failureThreshold, timeoutSeconds, httpGet } = livenessProbe;
    expect(resources.limits).toEqual({ memory: '512Mi' });
    const endMs = (periodSeconds * (failureThreshold + 1) + timeoutSeconds) * 1000;
    const evicted = async () => {
      const text = await machine.run('curl', '-s', `http://127.0.0.1:${httpGet.port}/metrics`);
      return Number(/^isthmus_admin_connections_evicted_total\{port="health"\} (\d+)$/m.exec(text)?.[1]);
    };
    let count = 0;
    const notReady: PodView[] = [];
    const seen = await seenDuring(`${FLOOD.connections} silent connections to the health port`, async () => {
      const options: FloodOptions = { ...FLOOD, port: httpGet.port };
      const inside = ['netns', 'exec', 'net-1', process.execPath, FLOOD_PROGRAM, JSON.stringify(options)];
      const flood = new Lines('ip', inside);
      try {
        await flood.heard((line) => line === 'open');
        const from = performance.now();
        await release.until(
          'the window of the liveness probe has passed',
          async () => {
            const pod = await release.pod('net-1');
            if (!pod.ready) notReady.push(pod);
            return performance.now() - from > endMs;
          },
          2 * endMs,
        );
        count = await evicted();
      } finally {
        await flood.stop();
      }
    });
    const failures = (await release.eventsOn('Pod', before.name)).filter((each) =>
      each.startsWith('Liveness probe failed'),
    );
    console.log(`flood for ${endMs / 1000} s: ${count} evictions, ${failures.length} failed liveness probes`);
    expect(count).toBeGreaterThan(FLOOD.connections);
    expect(notReady).toEqual([]);
    expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
    await isUntouched(before);
  },
);

long('a rewritten token is used without a restart', async () => {
  const { machine } = bed.node('net-1');
  const before = await release.pod('net-1');
  const uid = JSON.parse(await bed.kubectl('-n', NAMESPACE, 'get', 'pod', before.name, '-o', 'json')).metadata
    .uid;
  const seen = await seenDuring('token replaced', async () => {
    const token = await bed.kubectl('-n', NAMESPACE, 'create', 'token', 'isthmus', '--duration=1h');
    const id = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti;
    // Mounts of the node are visible through its root only.
    await machine.run(
      'sh',
      '-c',
      'printf %s "$1" >"$(echo /var/lib/kubelet/pods/$2/volumes/kubernetes.io~projected/*/..data)/token"',
      'sh',
      token,
      uid,
    );
    await release.until(
      'requests carry the new token',
      async () =>
        // Not `issued-credential-id`, with which the API server records the creation of the token.
        readFileSync(bed.management.controlPlane.auditLog, 'utf8').includes(
          `"authentication.kubernetes.io/credential-id":["JTI=${id}"]`,
        ),
      150_000,
    );
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await isUntouched(before);
});

long(
  'a node that loses power comes back with an empty /run, and serves when its namespaces are there again',
  async () => {
    const { machine, runtime, kubelet } = bed.node('net-1');
    const [alpha, beta] = [bed.workloads.get('alpha'), bed.workloads.get('beta')];
    if (alpha === undefined || beta === undefined) throw new Error('no workloads');
    const seen = await seenDuring('node without power for a while', async () => {
      ip('-n', 'net-1', 'link', 'set', 'eth0', 'down');
      await machine.crash();
      for (const each of [alpha, beta]) bed.detach(each, 'net-1');
      await release.until(
        'the slice of the dead node is withdrawn',
        async () => (await bed.management.slices('alpha')).filter(({ ready }) => ready).length === 1,
      );
      ip('-n', 'net-1', 'link', 'set', 'eth0', 'up');
      ip('-n', 'net-1', 'route', 'replace', 'default', 'via', '10.250.0.1');
      bed.restoreRoutes('net-1');
      await machine.boot();
      await runtime.start();
      kubelet.start();
      await release.untilRolledOut();
      // Neutron's agents are slower than the kubelet.
      for (const each of [alpha, beta]) bed.attach(each, 'net-1');
      await published();
    });
    expect(seen.alpha.gapSeconds).toBeLessThan(60);
    // No other node reaches beta, so its clients wait for the boot.
    expect(seen.beta.failed).not.toEqual({});
    console.log(`beta was not reachable for ${seen.beta.gapSeconds.toFixed(1)} s`);
    const after = await seenDuring('after the boot', async () => {});
    expect(after).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  },
);
