// The kubeconfig in the management cluster belongs to other controllers. Isthmus changes its server once, does not interfere with
// renewals, and restores the server at the end.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectStatus } from '../kube-api/suite.ts';
import { auditedRequests, ISTHMUS_USER } from './audit.ts';
import { Site } from './site.ts';
import { DIRECT_SERVER, NAMESPACE, proxiedServer, type Workload } from './workload.ts';

let site: Site;
let alpha: Workload;
let given: string;

beforeAll(async () => {
  site = await Site.start();
  alpha = await site.addWorkload({ name: 'alpha', real: true }, ['net-1', 'net-2']);
  await site.management.addCluster(alpha);
  given = await site.management.kubeconfig('alpha');
  for (const each of site.instances.values()) each.start();
});
afterAll(async () => await site?.stop());

/** Our writes. A patch that the API rejects because the other instance was faster (409) changes nothing. */
const ours = () =>
  auditedRequests(site.management.controlPlane.auditLog).filter(
    ({ user, name, verb, code }) =>
      user === ISTHMUS_USER && name === 'alpha-kubeconfig' && verb === 'patch' && code !== 409,
  );
const certificateOf = (text: string) => /client-certificate-data: (\S+)/.exec(text)?.[1];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('two instances rewrite the kubeconfig once, and change only the server', async () => {
  const text = await site.proxiedKubeconfig('alpha');
  expect(text).toBe(given.replace(DIRECT_SERVER, proxiedServer('alpha')));
  await site.until('both serve', async () => (await site.management.slices('alpha')).length === 2);
  await pause(15_000); // longer than a full resync
  expect(ours()).toHaveLength(1);
});

test('a certificate renewed by another controller is kept, and no instance writes again', async () => {
  const renewed = alpha.kubeconfig(proxiedServer('alpha'));
  await site.management.changeKubeconfig('alpha', () => renewed);
  await pause(15_000);
  expect(await site.management.kubeconfig('alpha')).toBe(renewed);
  expect(ours()).toHaveLength(1);
  const names = await site.client().kubectl(renewed, 'get', 'ns', '-o', 'name');
  expect(names).toContain('namespace/default');
});

test('a kubeconfig that is recreated with the direct server leads to the Service again, with its new certificate', async () => {
  const anew = alpha.kubeconfig();
  await site.management.changeKubeconfig('alpha', () => anew);
  const text = await site.proxiedKubeconfig('alpha');
  expect(text).toBe(anew.replace(DIRECT_SERVER, proxiedServer('alpha')));
  // The audit log records a request shortly after its answer.
  await site.until('the second write is in the audit log', () => ours().length >= 2);
  expect(ours()).toHaveLength(2);
});

test('consecutive renewals are never overwritten with older content', async () => {
  let last = '';
  for (let round = 0; round < 12; round += 1) {
    last = alpha.kubeconfig(round % 2 === 0 ? DIRECT_SERVER : proxiedServer('alpha'));
    await site.management.changeKubeconfig('alpha', () => last);
    await pause(round * 20);
  }
  const text = await site.proxiedKubeconfig('alpha');
  expect(certificateOf(text)).toBe(certificateOf(last));
});

test('the direct server is restored when the cluster is no longer proxied, with the certificate of the last renewal', async () => {
  const certificate = certificateOf(await site.management.kubeconfig('alpha'));
  // The audit log records a request shortly after its answer. The request of the other instance comes a little later.
  await site.until('all that was written is in the audit log', async () => {
    const known = ours().length;
    await pause(3000);
    return ours().length === known;
  });
  const before = ours().length;
  await site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: false } });
  await site.until('it is direct again', async () =>
    (await site.management.kubeconfig('alpha')).includes(`server: ${DIRECT_SERVER}\n`),
  );
  expect(certificateOf(await site.management.kubeconfig('alpha'))).toBe(certificate);
  await site.until('the Service is gone', async () => (await site.management.service('alpha')) === null);
  await site.until('its slices are gone', async () => (await site.management.slices('alpha')).length === 0);
  await site.until('that write is in the audit log', () => ours().length > before);
  expect(ours()).toHaveLength(before + 1);
});

describe('with Services in another namespace than the clusters', () => {
  const SERVICES = 'isthmus';
  const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const SERVER = 'https://alpha.isthmus:6443';
  const WANTED = `    tls-server-name: alpha.${NAMESPACE}\n    server: ${SERVER}\n`;
  const hasName = async () => (await site.management.kubeconfig('alpha')).includes(WANTED);

  /** The Role of deploy/ covers one namespace. */
  const grant = async (): Promise<void> => {
    const metadata = { name: 'isthmus', namespace: SERVICES };
    const verbs = ['list', 'watch', 'get', 'create', 'patch', 'delete'];
    const { client } = site.management;
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SERVICES } };
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${SERVICES}`;
    expectStatus(await client.post('/api/v1/namespaces', namespace), 201);
    const rules = [
      { apiGroups: [''], resources: ['services'], verbs },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs },
    ];
    expectStatus(await client.post(`${rbac}/roles`, { ...RBAC, kind: 'Role', metadata, rules }), 201);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'isthmus' };
    const subjects = [{ kind: 'ServiceAccount', name: 'isthmus', namespace: NAMESPACE }];
    const binding = { ...RBAC, kind: 'RoleBinding', metadata, roleRef, subjects };
    expectStatus(await client.post(`${rbac}/rolebindings`, binding), 201);
  };

  beforeAll(async () => {
    await grant();
    for (const each of site.instances.values()) {
      await each.stop();
      each.start('--namespace', SERVICES, '--cluster-namespace', NAMESPACE);
    }
    await site.management.patchCluster('alpha', { spec: { disableAPIServerFloatingIP: true } });
    await site.until('the kubeconfig has the name', hasName);
  });

  test('kubectl reaches the cluster through the Service, and verifies the certificate of Magnum’s driver', async () => {
    const text = await site.management.kubeconfig('alpha');
    await site.until('kubectl is answered', async () => {
      const names = await site.client().kubectl(text, 'get', 'ns', '-o', 'name').catch(String);
      return names.includes('namespace/default');
    });
    // Without the name, the certificate does not fit.
    const bare = text.replace(/ {4}tls-server-name.*\n/, '');
    await expect(site.client().kubectl(bare, 'get', 'ns')).rejects.toThrow(/x509|certificate/);
  });

  test('a rotation of Cluster API, which keeps the server and drops the name, is followed by one write', async () => {
    const before = ours().length;
    const rotated = alpha.kubeconfig(SERVER);
    await site.management.changeKubeconfig('alpha', () => rotated);
    await site.until('the name is back', hasName, 20_000);
    await site.until('the write is in the audit log', () => ours().length > before);
    expect(ours()).toHaveLength(before + 1);
    expect(certificateOf(await site.management.kubeconfig('alpha'))).toBe(certificateOf(rotated));
  });

  test('the API server logs nothing about the handshakes that read its certificate', () => {
    expect(readFileSync(alpha.controlPlane.apiServer.logFile, 'utf8')).not.toMatch(
      /TLS handshake error.*EOF/,
    );
  });
});
