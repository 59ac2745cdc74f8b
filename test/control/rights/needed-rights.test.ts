// The table of needed rights against the program: with exactly these rights it does its whole job, and it requests nothing else.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { neededRights } from '../../../src/control/objects/needed-rights.ts';
import { Management, NAMESPACE } from '../../support/kubernetes/management.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS, TwoClusters } from '../../support/two-clusters.ts';

const NODE = 'net-1';
const RIGHTS = neededRights({ namespace: NAMESPACE, clusterNamespace: NAMESPACE });
const clusters = new TwoClusters();
let management: Management;

beforeAll(async () => {
  await clusters.start();
  management = await Management.start();
});
afterAll(async () => {
  await management.stop();
  await clusters.stop();
});

test('a cluster is added, no longer proxied and deleted, and no request is forbidden', async () => {
  management.api.access.set(
    `system:isthmus:${NODE}`,
    RIGHTS.map(({ group, resource, verbs }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs,
      namespace: NAMESPACE,
    })),
  );
  const isthmus = management.instance(NODE);
  await isthmus.start(
    ...['--advertise-address', '192.0.2.1', '--health-interval', '200ms', '--propagation-wait', '300ms'],
  );
  management.addCluster({ ...clusters.alpha, address: ADDRESS });
  const leadsTo = (server: string) => () => management.kubeconfig('alpha').includes(`server: ${server}`);
  await until('the kubeconfig leads here', leadsTo(`https://alpha.${NAMESPACE}:6443`));
  await until('an Event reports it', () => management.names('v1', 'Event').length > 0);
  management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
  await until('the kubeconfig is direct again', leadsTo(`https://${ADDRESS}:6443`));
  await until('the Service is gone', () => management.services().length === 0);
  expect((await isthmus.status()).problems).toEqual([]);
  isthmus.signal('SIGTERM');
  expect(await isthmus.ended()).toBe(0);

  const allowed = new Set([
    ...RIGHTS.flatMap(({ verbs, resource }) => verbs.map((verb) => `${verb} ${resource}`)),
    'create selfsubjectaccessreviews', // Kubernetes allows it to every user: ClusterRole system:basic-user
  ]);
  const asked = Object.keys(management.requestsOf(NODE)).filter((what) => !/^get \//.test(what));
  expect(asked.filter((what) => !allowed.has(what))).toEqual([]);
  expect(asked.length).toBeGreaterThan(10);
});
