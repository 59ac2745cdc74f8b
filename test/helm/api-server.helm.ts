// The chart and the manifests on a real API server: it accepts all of them, Pod Security behaves as documented, releases can be
// installed, upgraded and removed, and the rights are exactly sufficient.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../scripts/chart/manifests.mjs';
import { readConfig } from '../../src/cli/config/config.ts';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { neededRights } from '../../src/control/objects/needed-rights.ts';
import { componentCommand } from '../e2e/component.ts';
import { ControlPlane } from '../e2e/control-plane.ts';
import { openStackClusterDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';
import type { RawClient } from '../kube-api/raw-client.ts';
import { expectStatus } from '../kube-api/suite.ts';
import { until } from '../support/tcp.ts';
import { only, type Rendered, rendered, renderedText, type Values } from './rendering.ts';
import { MATRIX } from './value-matrix.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PRESETS = join(CHART, 'presets');
const NAMESPACE = 'magnum-system';
const { ISTHMUS_MONITORING_DEFINITIONS: monitoring } = process.env;
if (monitoring === undefined) console.warn('NOT TESTED: PodMonitor, ServiceMonitor and PrometheusRule');

const controlPlane = new ControlPlane({ label: 'helm' });
const directory = mkdtempSync(join(tmpdir(), 'isthmus-helm-'));
const kubeconfig = join(directory, 'admin.kubeconfig');
let client: RawClient;

beforeAll(async () => {
  await controlPlane.start();
  client = controlPlane.client();
  writeFileSync(kubeconfig, controlPlane.kubeconfig(), { mode: 0o600 });
  for (const name of [NAMESPACE, 'tenants', 'isthmus-system'])
    expectStatus(
      await client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
      201,
    );
  const definitions = [openStackClusterDefinition({ served: ['v1beta1'] })];
  for (const each of definitions)
    expectStatus(await client.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', each), 201);
  if (monitoring !== undefined) {
    await kubectl(['apply', '--server-side', '-f', monitoring]);
    await until(
      'PodMonitors are served',
      async () => (await client.get('/apis/monitoring.coreos.com/v1/podmonitors')).status === 200,
    );
  }
}, 180_000);
afterAll(async () => {
  client?.close();
  await controlPlane.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function run(command: string, args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)(command, [...args], { timeout: 60_000, maxBuffer: 1 << 24 });
  running.child.stdin?.end(input);
  const { stdout, stderr } = await running;
  return `${stdout}${stderr}`;
}

function kubectl(args: readonly string[], input = ''): Promise<string> {
  const all = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(directory, 'cache')}`, ...args];
  const [command, rest] = componentCommand('kubectl', all);
  return run(command, rest, input);
}

function helm(...args: readonly string[]): Promise<string> {
  return run(process.env.ISTHMUS_HELM as string, ['--kubeconfig', kubeconfig, ...args]);
}

const DRY_RUN = ['apply', '--server-side', '--dry-run=server', '-f', '-'];
const usesOperator = ({ monitoring: found = {} }: Values): boolean =>
  /"(podMonitor|serviceMonitor|prometheusRule)":\{[^}]*"enabled":true/.test(JSON.stringify(found));

describe('the API server accepts', () => {
  test.each(Object.entries(MATRIX).filter(([, values]) => monitoring !== undefined || !usesOperator(values)))(
    'the chart with %s, without a warning',
    async (_title, values) => {
      const said = await kubectl(DRY_RUN, renderedText(values, { withHooks: true }));
      expect(said).not.toMatch(/warning/i);
      expect(said).toMatch(/daemonset\.apps\/\S+ serverside-applied/);
      expect(said).toMatch(/job\.batch\/\S+-uninstall serverside-applied/);
    },
  );

  test('a release with the longest name that Helm allows', async () => {
    const release = `r${'-1'.repeat(26)}`;
    expect(release).toHaveLength(53);
    const said = await kubectl(DRY_RUN, renderedText({}, { release, withHooks: true }));
    expect(said).toContain(`daemonset.apps/${release}-isthmus serverside-applied`);
    expect(said).toContain(`job.batch/${release}-uninstall serverside-applied`);
  });

  test.each(readdirSync(PRESETS).filter((name) => name.endsWith('.yaml')))('presets/%s', async (name) => {
    const values = parse(readFileSync(join(PRESETS, name), 'utf8')) as Values;
    if (monitoring === undefined && usesOperator(values)) return;
    expect(await kubectl(DRY_RUN, renderedText(values, { withHooks: true }))).not.toMatch(/warning/i);
  });

  test.each(['isthmus.yaml', 'isthmus-pod-network.yaml'])(
    'the plain manifest %s, applied as in the docs',
    async (name) => {
      const file = join(ROOT, 'deploy/manifests', name);
      expect(await kubectl(['apply', '--dry-run=server', '-f', file])).toMatch(
        /daemonset\.apps\/isthmus created/,
      );
    },
  );
});

describe('Pod Security', () => {
  const labelled = (name: string, level: string) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': level } },
  });
  const podOf = (values: Values, namespace: string): Rendered => {
    const { template } = only(rendered(values, { namespace }), 'DaemonSet').spec;
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name: 'isthmus' },
      spec: template.spec,
    };
  };
  const tried = (pod: Rendered, namespace: string) =>
    client.post(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, pod);

  beforeAll(async () => {
    for (const level of ['restricted', 'baseline', 'privileged']) {
      expectStatus(await client.post('/api/v1/namespaces', labelled(`level-${level}`, level)), 201);
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'isthmus' } };
      expectStatus(await client.post(`/api/v1/namespaces/level-${level}/serviceaccounts`, account), 201);
    }
  });

  const HOST = 'host namespaces (hostNetwork=true)';
  const PORTS = 'hostPort (container "isthmus" uses hostPorts 16443, 9581)';
  const VOLUME = 'hostPath volumes (volume "netns")';
  const VOLUMES = 'hostPath volumes (volumes "netns", "handover")';
  const CAPABILITY =
    'non-default capabilities (container "isthmus" must not include "SYS_ADMIN" in securityContext.capabilities.add)';
  test.each<[title: string, values: Values, reasons: string[]]>([
    ['on the host’s network', {}, [HOST, CAPABILITY, VOLUMES]],
    [
      'on the host’s network without a handover',
      { updateStrategy: { maxUnavailable: 1, maxSurge: 0 } },
      [HOST, CAPABILITY, VOLUME, PORTS],
    ],
    ['on a Pod’s network', { hostNetwork: false }, [CAPABILITY, VOLUME]],
  ])(
    'rejects the Pod %s below "privileged", for exactly the reasons in the docs',
    async (_title, values, reasons) => {
      expect((await tried(podOf(values, 'level-restricted'), 'level-restricted')).status).toBe(403);
      const { status, body } = await tried(podOf(values, 'level-baseline'), 'level-baseline');
      expect(status).toBe(403);
      const [, violations = ''] = /violates PodSecurity "baseline:latest": (.*)$/.exec(body.message) ?? [];
      expect(violations.split(/(?<=\)), /).sort()).toEqual([...reasons].sort());
      expectStatus(await tried(podOf(values, 'level-privileged'), 'level-privileged'), 201);
    },
  );

  test('rejects the spelling CAP_SYS_ADMIN together with allowPrivilegeEscalation: false', async () => {
    const pod = podOf({}, 'level-privileged');
    pod.spec.containers[0].securityContext.capabilities.add = ['CAP_SYS_ADMIN'];
    const { status, body } = await tried(pod, 'level-privileged');
    expect(status).toBe(422);
    expect(body.message).toContain('allowPrivilegeEscalation');
  });
});

describe('a release', () => {
  const NAME = 'widgets.isthmus.dev';
  const DEFINITION = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${NAME}`;
  const chart = join(directory, 'chart');
  const release = ['isthmus', chart, '--namespace', 'isthmus-system'];

  /** A definition as in deploy/crds/, in a copy of the chart. */
  function define(description: string): void {
    const schema = { type: 'object', description };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: NAME },
      spec: {
        group: 'isthmus.dev',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    };
    mkdirSync(join(chart, 'files', 'crds'), { recursive: true });
    writeFileSync(join(chart, 'files', 'crds', 'widgets.yaml'), JSON.stringify(definition));
  }
  const described = async () =>
    expectStatus(await client.get(DEFINITION), 200).body.spec.versions[0].schema.openAPIV3Schema.description;

  beforeAll(() => cpSync(CHART, chart, { recursive: true }));

  test('installs, also into a separate namespace, with rights in the namespace of the clusters', async () => {
    define('first');
    const said = await helm('install', ...release);
    expect(said).toContain('kubectl -n isthmus-system rollout status daemonset/isthmus');
    expectStatus(await client.get('/apis/apps/v1/namespaces/isthmus-system/daemonsets/isthmus'), 200);
    const role = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles/isthmus:isthmus-system`;
    expectStatus(await client.get(role), 200);
    expect(await described()).toBe('first');
  });

  test('can coexist with another release of the same name that publishes into the same namespace', async () => {
    const other = ['isthmus', chart, '--namespace', 'tenants', '--set', 'crds.install=false'];
    expect(await helm('install', ...other, '--dry-run=server')).toContain('name: isthmus:tenants');
    await helm('install', ...other);
    const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`;
    for (const namespace of ['isthmus-system', 'tenants']) {
      const { body } = expectStatus(await client.get(`${bindings}/isthmus:${namespace}`), 200);
      expect(body.subjects).toEqual([{ kind: 'ServiceAccount', name: 'isthmus', namespace }]);
    }
    await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'tenants');
    expectStatus(await client.get(`${bindings}/isthmus:isthmus-system`), 200);
  });

  test('upgrades its definitions, which Helm’s own crds/ directory would not do', async () => {
    define('second');
    await helm('upgrade', ...release, '--set', 'drainTimeout=2h');
    expect(await described()).toBe('second');
    const { body } = await client.get('/apis/apps/v1/namespaces/isthmus-system/daemonsets/isthmus');
    expect(body.spec.template.spec.terminationGracePeriodSeconds).toBe(7220);
  });

  test('can be rolled back', async () => {
    await helm('rollback', 'isthmus', '1', '--namespace', 'isthmus-system');
    const { body } = await client.get('/apis/apps/v1/namespaces/isthmus-system/daemonsets/isthmus');
    expect(body.spec.template.spec.terminationGracePeriodSeconds).toBe(3615);
  });

  test('can be removed and installed again, and its definitions stay with all their objects', async () => {
    await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system');
    expectStatus(await client.get('/apis/apps/v1/namespaces/isthmus-system/daemonsets/isthmus'), 404);
    expectStatus(await client.get(DEFINITION), 200);
    await helm('install', ...release);
    await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system');
  });

  test('without rights of its own leaves its account behind, and the next release adopts it', async () => {
    const account = '/api/v1/namespaces/isthmus-system/serviceaccounts/isthmus';
    for (const create of ['false', 'false', 'true']) {
      await helm('install', ...release, '--set', `rbac.create=${create}`);
      await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system');
      expectStatus(await client.get(account), create === 'false' ? 200 : 404);
    }
  });

  test('omits its definitions with crds.install=false, and removes them on uninstall with crds.keep=false', async () => {
    expect(rendered({ crds: { install: false } }, { chart }).map(({ kind }) => kind)).not.toContain(
      'CustomResourceDefinition',
    );
    await helm('install', ...release, '--set', 'crds.keep=false');
    await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system');
    await until('the definition is gone', async () => (await client.get(DEFINITION)).status === 404, 20_000);
  });
});

describe('an upgrade to a surge with a handover', () => {
  const DAEMON_SET = '/apis/apps/v1/namespaces/isthmus-system/daemonsets/isthmus';
  const release = ['isthmus', CHART, '--namespace', 'isthmus-system'];
  /** The default of the chart before it surged, and the first of the two steps in docs/how-to/upgrade.md. */
  const OLD = [
    '--set=handover.enabled=false',
    '--set=updateStrategy.maxSurge=0',
    '--set=updateStrategy.maxUnavailable=1',
  ];
  const FIRST = ['--set=handover.enabled=true', ...OLD.slice(1)];
  // Without a value Helm would use those of the last release.
  const upgrade = (...values: readonly string[]) =>
    helm('upgrade', '--install', '--reset-values', ...release, ...values);
  /** No controller runs here, so the test writes how far the rollout is. */
  async function rolledOut(nodes: number, available = 3): Promise<void> {
    const { metadata } = expectStatus(await client.get(DAEMON_SET), 200).body;
    const counts = {
      currentNumberScheduled: 3,
      desiredNumberScheduled: 3,
      numberMisscheduled: 0,
      numberReady: 3,
    };
    const status = {
      ...counts,
      updatedNumberScheduled: nodes,
      numberAvailable: available,
      observedGeneration: metadata.generation,
    };
    expectStatus(await client.patch(`${DAEMON_SET}/status`, { status }), 200);
  }

  afterAll(() => helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system'));

  test('is refused if the Pods cannot hand over, and the message names the two steps of the documentation', async () => {
    await upgrade(...OLD);
    await rolledOut(3);
    const refused = upgrade();
    await expect(refused).rejects.toThrow(
      'DaemonSet isthmus-system/isthmus: its Pods run without --handover /run/isthmus-pod',
    );
    const { message } = (await refused.catch((error) => error)) as Error;
    const documented = readFileSync(join(ROOT, 'docs/how-to/upgrade.md'), 'utf8');
    const changes =
      '--set handover.enabled=true --set updateStrategy.maxSurge=0 --set updateStrategy.maxUnavailable=1';
    for (const text of [message, documented]) expect(text).toContain(changes);
    expect(message).toContain('kubectl -n isthmus-system rollout status daemonset/isthmus\n');
    expect(message).toContain('helm upgrade isthmus <chart> --namespace isthmus-system -f <your values>\n');
  });

  test('is allowed in one step with handover.acceptGap, and without a surge', async () => {
    expect(await upgrade('--set=handover.acceptGap=true', '--dry-run=server')).toContain('maxSurge: 1');
    expect(await upgrade('--set=updateStrategy.type=OnDelete', '--dry-run=server')).toContain('OnDelete');
    expect(await upgrade('--set=hostNetwork=false', '--dry-run=server')).toContain('hostNetwork: false');
  });

  test('is allowed in two steps, the second one after the rollout of the first', async () => {
    await upgrade(...FIRST);
    await expect(upgrade()).rejects.toThrow('its rollout is not finished');
    await rolledOut(2);
    await expect(upgrade()).rejects.toThrow('its rollout is not finished');
    await rolledOut(3);
    await upgrade();
  });

  test('is refused while the new Pod of a node is not available, and handover.acceptGap allows it', async () => {
    await upgrade(...FIRST);
    await rolledOut(3, 2);
    await expect(upgrade()).rejects.toThrow('a node that is not reachable counts until its Node is deleted');
    expect(await upgrade('--set=handover.acceptGap=true', '--dry-run=server')).toContain('maxSurge: 1');
    await rolledOut(3, 0);
    await expect(upgrade()).rejects.toThrow('its rollout is not finished');
    await rolledOut(3);
    await upgrade();
  });

  test('continues during a rollout, but with another directory it is refused', async () => {
    await rolledOut(1);
    await upgrade('--set=image.tag=next');
    const other = '--set=handover.hostDirectory=/run/other';
    await expect(upgrade(other)).rejects.toThrow('its Pods run without --handover /run/other');
    await upgrade(...FIRST, other);
    await rolledOut(3);
    await upgrade(other);
  });

  test('is allowed from Pods with networks of their own: they do not have the ports of the node', async () => {
    await helm('uninstall', 'isthmus', '--no-hooks', '--namespace', 'isthmus-system');
    await upgrade('--set=hostNetwork=false');
    await upgrade();
  });
});

test('a DaemonSet that was saved as docs/how-to/migration.md says can be applied again after its deletion', async () => {
  const saved = join(directory, 'saved.yaml');
  await kubectl(['apply', '-f', join(ROOT, 'deploy/manifests/isthmus.yaml')]);
  writeFileSync(saved, await kubectl(['-n', NAMESPACE, 'get', 'daemonset', 'isthmus', '-o', 'yaml']));
  await kubectl(['-n', NAMESPACE, 'delete', 'daemonset', 'isthmus']);
  expect(await kubectl(['apply', '-f', saved])).toContain('daemonset.apps/isthmus created');
  await kubectl(['-n', NAMESPACE, 'delete', 'daemonset', 'isthmus']);
});

describe('the rights of the chart', () => {
  const file = join(directory, 'isthmus.kubeconfig');
  const ROLE = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles/isthmus`;
  const SETTINGS = { namespace: NAMESPACE, clusterNamespace: NAMESPACE };
  let rules: readonly Rendered[];

  beforeAll(async () => {
    await kubectl(['apply', '-f', join(ROOT, 'deploy/examples/kubernetes-source/rbac.yaml')]);
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/isthmus/token`;
    const token = expectStatus(await client.post(path, request), 201).body.status.token as string;
    const config = JSON.parse(controlPlane.kubeconfig());
    config.users[0].user = { token };
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    rules = expectStatus(await client.get(ROLE), 200).body.rules;
  });

  async function asked(): Promise<{ result: string; found: string; fix: string | null }> {
    const environment = { KUBECONFIG: file, NODE_NAME: 'net-1' };
    const flags = ['--advertise-address', '192.0.2.1', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
    const read = readConfig(flags, environment);
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    let text = '';
    const print = (part: string) => {
      text += part;
    };
    await doctor({ ...read, environment, version: '0.0.0', json: true, print, tell: () => {} });
    const { checks } = JSON.parse(text);
    return checks.find(({ check }: { check: string }) => check === 'rights');
  }

  test('are sufficient', async () => {
    await until('they are in force', async () => (await asked()).result === 'ok', 20_000);
  });

  const each = neededRights(SETTINGS).flatMap(({ group, resource, verbs }) =>
    verbs.map((verb) => [verb, resource, group] as const),
  );
  test.each(each)('are all needed: the doctor reports a missing %s %s', async (verb, resource, group) => {
    const isMeant = (rule: Rendered) => rule.resources.includes(resource) && rule.apiGroups.includes(group);
    const fewer = rules
      .map((rule) => ({
        ...rule,
        verbs: rule.verbs.filter((each: string) => !isMeant(rule) || each !== verb),
      }))
      .filter(({ verbs }) => verbs.length > 0);
    expectStatus(await client.patch(ROLE, { rules: fewer }), 200);
    const shown = group === '' ? resource : `${resource}.${group}`;
    const missingRight = `system:serviceaccount:${NAMESPACE}:isthmus may not ${verb} ${shown} in ${NAMESPACE}`;
    await until('it is named', async () => (await asked()).found === missingRight, 20_000);
    expectStatus(await client.patch(ROLE, { rules }), 200);
  });
});
