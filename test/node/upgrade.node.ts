// Upgrade, rollback and removal of a release under load, as docs/how-to/upgrade.md and docs/how-to/install/kubernetes.md describe them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { auditedRequests, ISTHMUS_USER, isWrite } from '../e2e/audit.ts';
import { NAMESPACE, proxiedServer } from '../e2e/workload.ts';
import { Bed, CHART, NODES } from './bed.ts';
import { whileConnected } from './clients.ts';
import { long } from './long.ts';
import { ONE_AT_A_TIME, Release, SURGE, type Values } from './release.ts';

const NEXT = { image: { tag: 'next' } };
const NOTHING_LOST = { failed: {}, cuts: [] };

let bed: Bed;
let release: Release;

beforeAll(async () => {
  bed = await Bed.start();
  release = new Release(bed);
  await bed.addWorkload('alpha', NODES);
  // As with OVN: one node alone reaches this cluster.
  await bed.addWorkload('beta', ['net-1']);
});
afterAll(async () => await bed?.stop());

async function installed(values: Values): Promise<void> {
  await release.install(values);
  await release.untilAvailable();
  await release.untilPublished('alpha');
  await release.untilPublished('beta', 1);
}

test('an upgrade with surge and handover loses no connection, also where one node alone reaches the cluster', async () => {
  await installed(SURGE);
  const options = { story: 'surge with handover', clusters: ['alpha', 'beta'] } as const;
  const seen = await whileConnected(bed, options, async () => {
    await release.upgrade({ ...SURGE, ...NEXT });
    await release.untilImage('next');
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await release.untilOldPodsAreGone();
});

long('a rollback with surge and handover loses no connection', async () => {
  const options = { story: 'rollback with handover', clusters: ['alpha', 'beta'] } as const;
  const seen = await whileConnected(bed, options, async () => {
    await bed.helm('rollback', 'isthmus');
    await release.untilImage('0.1.0');
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await release.untilOldPodsAreGone();
});

long(
  'an upgrade one node at a time refuses no new connection where two nodes reach the cluster',
  async () => {
    await installed(ONE_AT_A_TIME);
    await release.untilOldPodsAreGone();
    const options = { story: 'one node at a time', clusters: ['alpha', 'beta'] } as const;
    const { alpha } = await whileConnected(bed, options, async () => {
      await release.upgrade({ ...ONE_AT_A_TIME, ...NEXT });
      await release.untilImage('next');
    });
    expect(alpha.failed).toEqual({});
  },
);

long(
  'Pods without a handover: Helm refuses the upgrade to the default. It takes two upgrades, and the second one loses no connection',
  async () => {
    await installed(ONE_AT_A_TIME);
    await release.untilOldPodsAreGone();
    const before = await release.pods();
    await expect(release.upgrade()).rejects.toThrow('so they cannot hand their ports over');
    expect(await release.pods()).toEqual(before);
    await release.upgrade({ ...ONE_AT_A_TIME, handover: { enabled: true } });
    await expect(release.upgrade()).rejects.toThrow('its rollout is not finished');
    await release.untilRolledOut();
    await release.untilOldPodsAreGone();
    await release.until('the DaemonSet has counted', async () => {
      const { status } = await release.daemonSet();
      return status.updatedNumberScheduled === NODES.length;
    });
    await release.untilAvailable();
    const options = { story: 'from no handover to the default', clusters: ['alpha', 'beta'] } as const;
    const seen = await whileConnected(bed, options, async () => {
      await release.upgrade();
      await release.untilRolledOut();
    });
    expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  },
);

long('the preset for OVN upgrades without a lost connection', async () => {
  for (const node of NODES) await bed.kubectl('label', 'node', node, 'openstack-compute-node=enabled');
  const preset = parse(readFileSync(join(CHART, 'presets', 'ovn.yaml'), 'utf8')) as Values;
  await installed(preset);
  await release.untilOldPodsAreGone();
  const options = { story: 'the preset for OVN', clusters: ['alpha', 'beta'] } as const;
  const seen = await whileConnected(bed, options, async () => {
    await release.upgrade({ ...preset, ...NEXT });
    await release.untilImage('next');
  });
  expect(seen).toMatchObject({ alpha: NOTHING_LOST, beta: NOTHING_LOST });
  await release.untilOldPodsAreGone();
});

const noneIsLeft = (kind: 'endpointslices' | 'leases'): Promise<void> =>
  bed.until(`the ${kind} are gone`, async () => (await bed.management.names(kind)).length === 0);

long.each<[title: string, values: Values]>([
  ['of the default, surge with handover,', {}],
  ['of Pods without a handover', ONE_AT_A_TIME],
])('`helm uninstall` %s withdraws all slices before it refuses a client', async (title, values) => {
  await installed(values);
  const from = Date.now();
  const story = `helm uninstall ${title.replace(/,$/, '')}`;
  const options = { story, clusters: ['alpha', 'beta'], servedAfter: false } as const;
  const seen = await whileConnected(bed, options, async () => {
    await Promise.all([
      release.uninstall(),
      noneIsLeft('endpointslices').then(() =>
        console.log(`${story}: no slice after ${((Date.now() - from) / 1000).toFixed(1)} s`),
      ),
    ]);
    await noneIsLeft('leases');
  });
  // kube-proxy refuses them. An instance that ended too early would reset them, or leave them without an answer.
  for (const { failed } of Object.values(seen)) expect(Object.keys(failed)).toEqual(['ECONNREFUSED']);
  expect(await bed.management.names('services')).toEqual(['alpha', 'beta']);
  expect(await bed.management.kubeconfig('alpha')).toContain(`server: ${proxiedServer('alpha')}\n`);
});

long('`helm uninstall` withdraws all slices where all nodes are cordoned', async () => {
  await installed({});
  for (const node of NODES) await bed.kubectl('cordon', node);
  try {
    await release.uninstall();
    expect(await bed.management.names('endpointslices')).toEqual([]);
  } finally {
    for (const node of NODES) await bed.kubectl('uncordon', node);
  }
});

long('`helm uninstall` works after an installation whose nodeSelector matches no node', async () => {
  await release.upgrade({ nodeSelector: { 'no-such-label': 'enabled' } });
  await release.until('the DaemonSet wants no Pod', async () => {
    const { metadata, status } = await release.daemonSet();
    return status.observedGeneration === metadata.generation && status.desiredNumberScheduled === 0;
  });
  await release.uninstall();
  await expect(release.daemonSet()).rejects.toThrow('not found');
});

long(
  '`helm uninstall` withdraws all slices where another tool granted the rights, and keeps the account',
  async () => {
    const rights = join(bed.directory, 'rights.yaml');
    writeFileSync(rights, await bed.helm('template', 'isthmus', CHART, '--show-only', 'templates/rbac.yaml'));
    await bed.kubectl('apply', '-f', rights);
    await installed({ rbac: { create: false } });
    await release.uninstall();
    await noneIsLeft('endpointslices');
    await noneIsLeft('leases');
    await bed.kubectl('-n', NAMESPACE, 'delete', 'serviceaccount', 'isthmus');
    await bed.kubectl('delete', '-f', rights);
  },
);

long(
  'an upgrade on the network of the Pods refuses no new connection, and cuts open ones after the drain only',
  async () => {
    const values = { hostNetwork: false, drainTimeout: '10s' };
    await installed(values);
    await release.untilOldPodsAreGone();
    const addresses = async () => (await bed.management.slices('beta')).flatMap((slice) => slice.addresses);
    const before = await addresses();
    let movedMs = Number.POSITIVE_INFINITY;
    const from = Date.now();
    const options = { story: 'surge on the network of the Pods', clusters: ['alpha', 'beta'] } as const;
    const { alpha, beta } = await whileConnected(bed, options, async () => {
      await release.upgrade({ ...values, ...NEXT });
      await bed.until('the slice of beta leads to the new Pod', async () =>
        (await addresses()).some((address) => !before.includes(address)),
      );
      movedMs = Date.now();
      await release.untilImage('next');
      await release.untilOldPodsAreGone();
    });
    expect(alpha.failed).toEqual({});
    expect(beta.failed).toEqual({});
    const afterMs = (beta.cuts[0] ?? 0) - movedMs;
    console.log(
      `the first long connection of beta ends ${(afterMs / 1000).toFixed(1)} s after its slice changed`,
    );
    expect(afterMs).toBeGreaterThan(10_000);
    const writes = auditedRequests(bed.management.controlPlane.auditLog).filter(
      (each) =>
        each.at > from && each.user === ISTHMUS_USER && each.resource === 'endpointslices' && isWrite(each),
    );
    expect(writes.map(({ verb, name }) => `${verb} ${name}`).sort()).toEqual([
      'patch alpha-net-1',
      'patch alpha-net-2',
      'patch beta-net-1',
    ]);
  },
);
