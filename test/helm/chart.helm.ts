// The chart, rendered by Helm itself: the result of values, rejected values, and that the program accepts its settings.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART, renderedManifests } from '../../scripts/chart/manifests.mjs';
import { readConfig } from '../../src/cli/config/config.ts';
import { neededRights } from '../../src/control/objects/needed-rights.ts';
import { START_LIMIT_MS } from '../../src/lifecycle/service.ts';
import { helm, only, type Rendered, refusal, rendered, settingsOf, type Values } from './rendering.ts';
import { MATRIX } from './value-matrix.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EXAMPLES = join(ROOT, 'deploy', 'examples', 'helm');
const ALL: Readonly<Record<string, Values>> = {
  ...MATRIX,
  ...Object.fromEntries(
    readdirSync(EXAMPLES)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => [`deploy/examples/helm/${name}`, parse(readFileSync(join(EXAMPLES, name), 'utf8'))]),
  ),
};
const podOf = (daemonSet: Rendered): Rendered => daemonSet.spec.template.spec;
const containerOf = (daemonSet: Rendered): Rendered => podOf(daemonSet).containers[0];

test('helm lint reports nothing', () => {
  expect(helm('lint', '--strict', CHART)).toContain('1 chart(s) linted, 0 chart(s) failed');
});

test('the manifests equal the rendered chart (npm run manifests)', () => {
  for (const [file, text] of renderedManifests(process.env.ISTHMUS_HELM as string))
    expect(readFileSync(join(ROOT, file), 'utf8')).toBe(text);
});

describe.each(Object.entries(ALL))('with %s', (_title, values) => {
  const objects = rendered(values);
  const daemonSet = only(objects, 'DaemonSet');

  test('the program accepts every setting', () => {
    const { args, environment } = settingsOf(daemonSet);
    expect(readConfig(args, environment)).toMatchObject({ config: {}, warnings: [] });
  });

  test('the Pod always has the least privilege that works', () => {
    const pod = podOf(daemonSet);
    expect(pod).toMatchObject({ hostPID: false, hostIPC: false, enableServiceLinks: false });
    expect(pod.shareProcessNamespace).toBeUndefined();
    expect(pod.containers).toHaveLength(1);
    const { seccompProfile, appArmorProfile, seLinuxOptions, ...rest } =
      containerOf(daemonSet).securityContext;
    expect(rest).toEqual({
      runAsUser: 0,
      runAsGroup: 0,
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] },
    });
    expect(['RuntimeDefault', 'Localhost']).toContain(seccompProfile.type);
    expect([undefined, 'RuntimeDefault']).toContain(appArmorProfile?.type);
    expect([undefined, 'spc_t']).toContain(seLinuxOptions?.type);
    const netns = containerOf(daemonSet).volumeMounts.find(({ name }: Rendered) => name === 'netns');
    expect(netns).toMatchObject({ readOnly: true, mountPropagation: 'HostToContainer' });
  });

  test('the grace period covers an orderly shutdown', () => {
    const { args, environment } = settingsOf(daemonSet);
    const read = readConfig(args, {
      ISTHMUS_DRAIN_TIMEOUT: environment.ISTHMUS_DRAIN_TIMEOUT,
      ISTHMUS_PROPAGATION_WAIT: environment.ISTHMUS_PROPAGATION_WAIT,
    });
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    const { drainTimeoutMs, propagationWaitMs } = read.config;
    const handoverMs = environment.ISTHMUS_HANDOVER_DRAIN === undefined ? 0 : 3_600_000;
    const graceMs = podOf(daemonSet).terminationGracePeriodSeconds * 1000;
    const neededMs = Math.max(drainTimeoutMs + propagationWaitMs, handoverMs);
    expect(graceMs - neededMs).toBeGreaterThanOrEqual(15_000);
    expect(graceMs - neededMs).toBeLessThan(17_000);
  });

  test('the rights equal the table, each in the namespace that needs it', () => {
    const { environment } = settingsOf(daemonSet);
    const namespace = environment.ISTHMUS_NAMESPACE as string;
    const clusters = environment.ISTHMUS_CLUSTER_NAMESPACE as string;
    const nodeSelector = environment.ISTHMUS_NODE_SELECTOR === undefined ? null : {};
    const settings = { namespace, clusterNamespace: clusters === '*' ? null : clusters, nodeSelector };
    const wanted = neededRights(settings).flatMap(({ group, resource, verbs, namespace: where }) =>
      verbs.map((verb) => `${verb} ${group}/${resource} in ${where ?? '*'}`),
    );
    const granted = grantedRights(objects);
    expect(granted).toEqual(wanted.sort());
    for (const right of granted) expect(right).not.toMatch(/^\*|\/\*/);
  });
});

test.each<[title: string, values: Values]>([
  ['in one shared namespace', {}],
  [
    'in its own namespace',
    { namespace: 'own', clusterNamespace: '*', nodeParticipation: [{ key: 'a', operator: 'Exists' }] },
  ],
  ['for clusters in a third namespace', { clusterNamespace: 'tenants' }],
  [
    'under a new name',
    { fullnameOverride: 'narrows', nodeParticipation: [{ key: 'a', operator: 'Exists' }] },
  ],
])('two releases of one name share no object when they publish %s', (_title, values) => {
  const names = (namespace: string) =>
    rendered(
      { crds: { install: false }, ...values, ...('namespace' in values ? { namespace } : {}) },
      { namespace },
    ).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
  const [first, second] = [names('site-a'), names('site-b')];
  expect(first.length).toBeGreaterThan(3);
  expect(first.filter((name) => second.includes(name))).toEqual([]);
});

test('rights in the release’s own namespace have the plain release name', () => {
  expect(only(rendered(), 'Role').metadata.name).toBe('isthmus');
  expect(only(rendered({}, { namespace: 'site-a' }), 'Role').metadata).toMatchObject({
    name: 'isthmus:site-a',
    namespace: 'magnum-system',
  });
});

/** `verb group/resource in namespace` for every right of our account. */
function grantedRights(objects: readonly Rendered[]): string[] {
  const account = only(objects, 'ServiceAccount').metadata;
  return objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .flatMap((binding) => {
      expect(binding.subjects).toEqual([
        { kind: 'ServiceAccount', name: account.name, namespace: account.namespace },
      ]);
      const role = objects.find(
        ({ kind, metadata }) =>
          kind === binding.roleRef.kind &&
          metadata.name === binding.roleRef.name &&
          metadata.namespace === binding.metadata.namespace,
      );
      return role.rules.flatMap(({ apiGroups, resources, verbs }: Record<string, string[]>) =>
        (apiGroups as string[]).flatMap((group) =>
          (resources as string[]).flatMap((resource) =>
            (verbs as string[]).map(
              (verb) => `${verb} ${group}/${resource} in ${role.metadata.namespace ?? '*'}`,
            ),
          ),
        ),
      );
    })
    .sort();
}

describe('the Pods', () => {
  const daemonSet = (values: Values = {}) => only(rendered(values), 'DaemonSet');

  test('change one field to get their own network: test/image changes only that field of the manifest', () => {
    const own = daemonSet({ hostNetwork: false });
    expect(podOf(own).hostNetwork).toBe(false);
    podOf(own).hostNetwork = true;
    expect(own).toEqual(daemonSet());
  });

  test('listen on port 16443 of the host by default, and only the slices publish the port', () => {
    const found = daemonSet();
    expect(podOf(found)).toMatchObject({ hostNetwork: true, terminationGracePeriodSeconds: 50 });
    expect(settingsOf(found).environment).toMatchObject({
      ISTHMUS_LISTEN: '16443',
      ISTHMUS_ADMIN: '127.0.0.1:9580',
    });
    const fields = containerOf(found).env.filter(({ valueFrom }: Rendered) => valueFrom !== undefined);
    expect(fields.map(({ name, valueFrom }: Rendered) => [name, valueFrom.fieldRef.fieldPath])).toEqual([
      ['NODE_NAME', 'spec.nodeName'],
      ['POD_IP', 'status.podIP'],
    ]);
  });

  test('are probed at the address and port of --health-listen', () => {
    const { livenessProbe, readinessProbe } = containerOf(
      daemonSet({ health: { port: 7000, address: '127.0.0.1' } }),
    );
    expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 7000, host: '127.0.0.1' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 7000, host: '127.0.0.1' });
  });

  test('declare ports, except when two Pods share a host: the second Pod would never start', () => {
    expect(containerOf(daemonSet()).ports).toHaveLength(2);
    expect(
      containerOf(daemonSet(MATRIX['the host’s network, with surge and hand-over'])).ports,
    ).toBeUndefined();
    expect(containerOf(daemonSet(MATRIX['a Pod’s own network, with surge and a policy'])).ports).toHaveLength(
      2,
    );
  });

  test('mount the handover directory only if the handover is enabled', () => {
    const volumes = (values: Values) => podOf(daemonSet(values)).volumes.map(({ name }: Rendered) => name);
    expect(volumes({})).toEqual(['netns']);
    expect(volumes({ handover: { enabled: true } })).toEqual(['netns', 'handover']);
  });

  test('that share a health port stay ready while a successor starts, because a DaemonSet would delete them', () => {
    const { readinessProbe } = containerOf(daemonSet({ handover: { enabled: true } }));
    const { initialDelaySeconds, periodSeconds, failureThreshold } = readinessProbe;
    expect(initialDelaySeconds).toBe(2);
    expect(periodSeconds * (failureThreshold - 2)).toBeGreaterThan(START_LIMIT_MS / 1000);
    expect(containerOf(daemonSet()).readinessProbe.failureThreshold).toBe(2);
  });

  test('are replaced one node at a time', () => {
    expect(daemonSet().spec.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    });
    expect(daemonSet({ updateStrategy: { type: 'OnDelete' } }).spec.updateStrategy).toEqual({
      type: 'OnDelete',
    });
  });
});

describe('alerts', () => {
  test('keep the template braces of Prometheus, and get the labels of the site', () => {
    const rule = only(rendered(MATRIX['a PodMonitor, alerts and a dashboard']), 'PrometheusRule');
    const [group] = rule.spec.groups;
    expect(group.rules.length).toBeGreaterThan(8);
    for (const { labels } of group.rules) expect(labels).toMatchObject({ team: 'cloud' });
    const text = JSON.stringify(group);
    expect(text).toContain('{{ $labels.cluster }}');
    expect(text).toContain('isthmus_connections > 0.8 * 8192');
    expect(text).not.toContain('MAX_CONNECTIONS');
  });

  test('and the dashboard are rendered unchanged', () => {
    const { data } = only(rendered(MATRIX['a PodMonitor, alerts and a dashboard']), 'ConfigMap');
    expect(JSON.parse(data['isthmus.json'])).toEqual(
      JSON.parse(readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8')),
    );
  });
});

describe('the schema rejects', () => {
  test.each<[title: string, values: Values, told: RegExp]>([
    ['a misspelt key', { hostNetwrok: true }, /hostNetwrok/],
    ['a misspelt key further down', { listen: { prot: 1 } }, /listen.*prot|prot.*listen/s],
    [
      'a key of the securityContext, which is fixed',
      { securityContext: { privileged: true } },
      /securityContext/,
    ],
    ['a port out of range', { listen: { port: 70_000 } }, /listen\/port|listen\.port/],
    ['a port that is a string', { listen: { port: '16443' } }, /listen\/port|listen\.port/],
    ['a time without a unit', { drainTimeout: 30 }, /drainTimeout/],
    ['a time that is not a duration', { drainTimeout: 'half an hour' }, /drainTimeout/],
    ['an invalid namespace name', { namespace: 'Magnum_System' }, /namespace/],
    ['an unknown liveness mode', { liveness: 'heartbeat' }, /liveness/],
    ['an unknown operator', { nodeParticipation: [{ key: 'a', operator: 'Is' }] }, /nodeParticipation/],
    ['In without values', { nodeParticipation: [{ key: 'a', operator: 'In' }] }, /nodeParticipation/],
    [
      'Exists with values',
      { nodeParticipation: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
      /nodeParticipation/,
    ],
    [
      'Gt with a value that is not a number',
      { nodeParticipation: [{ key: 'a', operator: 'Gt', values: ['b'] }] },
      /nodeParticipation/,
    ],
    ['a tag with an invalid label key', { resourceTags: { 'a b': 'c' } }, /resourceTags/],
    ['a tag with an invalid label value', { resourceTags: { a: 'b c' } }, /resourceTags/],
    ['the same ignored key twice', { ignoredSelectorLabels: ['a', 'a'] }, /ignoredSelectorLabels/],
    ['listener ports that are not a range', { listeners: { ports: '20000' } }, /listeners/],
    ['an invalid digest', { image: { digest: 'sha256:1' } }, /digest/],
    ['seccomp switched off', { seccomp: { type: 'Unconfined' } }, /seccomp/],
    ['a relative directory', { netnsDirectory: 'run/netns' }, /netnsDirectory/],
    ['extra arguments that are not flags', { extraArgs: ['rm -rf'] }, /extraArgs/],
  ])('%s', (_title, values, told) => {
    expect(refusal(values)).toMatch(told);
  });
});

describe('contradictory values are rejected with an explanation:', () => {
  test.each<[title: string, values: Values, told: string]>([
    [
      'surge without handover',
      { updateStrategy: { maxUnavailable: 0, maxSurge: 1 } },
      'two Pods cannot have one port',
    ],
    [
      'surge together with maxUnavailable',
      { hostNetwork: false, updateStrategy: { maxUnavailable: 1, maxSurge: 1 } },
      'maxUnavailable must be 0',
    ],
    [
      'no surge and no maxUnavailable',
      { updateStrategy: { maxUnavailable: 0 } },
      'no Pod could ever be replaced',
    ],
    [
      'a handover between Pods with their own networks',
      { hostNetwork: false, handover: { enabled: true } },
      "sockets of a Pod's own network end with the Pod",
    ],
    [
      'probes at the loopback address of a Pod’s own network',
      { hostNetwork: false, health: { address: '127.0.0.1' } },
      'would end the Pod again and again',
    ],
    [
      'a policy on the host network',
      { networkPolicy: { enabled: true } },
      "does not filter the host's network",
    ],
    [
      'two monitors at once',
      { monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
      'choose one',
    ],
    ['the same port twice', { admin: { port: 9581 } }, 'three different ports'],
    ['no service account', { serviceAccount: { create: false } }, 'serviceAccount.name'],
  ])('%s', (_title, values, told) => {
    expect(refusal(values)).toContain(told);
  });
});
