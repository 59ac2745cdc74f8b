// The chart, rendered by Helm itself: what comes of values, what is refused, and that the program takes what it is given.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART, renderedManifests } from '../../scripts/manifests.mjs';
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

test('helm lint has nothing to say', () => {
  expect(helm('lint', '--strict', CHART)).toContain('1 chart(s) linted, 0 chart(s) failed');
});

test('the manifests are what the chart gives (npm run manifests)', () => {
  for (const [file, text] of renderedManifests(process.env.ISTHMUS_HELM as string))
    expect(readFileSync(join(ROOT, file), 'utf8')).toBe(text);
});

describe.each(Object.entries(ALL))('with %s', (_title, values) => {
  const objects = rendered(values);
  const daemonSet = only(objects, 'DaemonSet');

  test('the program takes every setting', () => {
    const { args, environment } = settingsOf(daemonSet);
    expect(readConfig(args, environment)).toMatchObject({ config: {}, warnings: [] });
  });

  test('it has the least privilege that works, and nothing changes that', () => {
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

  test('it is given the time that an orderly end takes', () => {
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

  test('its rights are those of the table, each where it is needed', () => {
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
  ['in one namespace for all', {}],
  [
    'each where it is',
    { namespace: 'own', clusterNamespace: '*', nodeParticipation: [{ key: 'a', operator: 'Exists' }] },
  ],
  ['with clusters in a third', { clusterNamespace: 'tenants' }],
  ['by another name', { fullnameOverride: 'narrows', nodeParticipation: [{ key: 'a', operator: 'Exists' }] }],
])('two releases of one name have no object in common, publishing %s', (_title, values) => {
  const names = (namespace: string) =>
    rendered(
      { crds: { install: false }, ...values, ...('namespace' in values ? { namespace } : {}) },
      { namespace },
    ).map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
  const [first, second] = [names('site-a'), names('site-b')];
  expect(first.length).toBeGreaterThan(3);
  expect(first.filter((name) => second.includes(name))).toEqual([]);
});

test('rights in the release’s own namespace have its plain name', () => {
  expect(only(rendered(), 'Role').metadata.name).toBe('isthmus');
  expect(only(rendered({}, { namespace: 'site-a' }), 'Role').metadata).toMatchObject({
    name: 'isthmus:site-a',
    namespace: 'magnum-system',
  });
});

/** `verb group/resource in namespace` of everything that our account is bound to. */
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

  test('have a network of their own by one field: test/image runs the manifest with that and nothing else changed', () => {
    const own = daemonSet({ hostNetwork: false });
    expect(podOf(own).hostNetwork).toBe(false);
    podOf(own).hostNetwork = true;
    expect(own).toEqual(daemonSet());
  });

  test('listen on 16443 of the host unless told otherwise, and say so to nobody but the slices', () => {
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

  test('are asked for their health where --health-listen is', () => {
    const { livenessProbe, readinessProbe } = containerOf(
      daemonSet({ health: { port: 7000, address: '127.0.0.1' } }),
    );
    expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 7000, host: '127.0.0.1' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 7000, host: '127.0.0.1' });
  });

  test('declare ports, but not where two of them share a host: the second would never start', () => {
    expect(containerOf(daemonSet()).ports).toHaveLength(2);
    expect(
      containerOf(daemonSet(MATRIX['the host’s network, with surge and hand-over'])).ports,
    ).toBeUndefined();
    expect(containerOf(daemonSet(MATRIX['a Pod’s own network, with surge and a policy'])).ports).toHaveLength(
      2,
    );
  });

  test('have the directory of the hand-over only where there is one', () => {
    const volumes = (values: Values) => podOf(daemonSet(values)).volumes.map(({ name }: Rendered) => name);
    expect(volumes({})).toEqual(['netns']);
    expect(volumes({ handover: { enabled: true } })).toEqual(['netns', 'handover']);
  });

  test('that share a health port do not count as not ready while a successor starts: a DaemonSet would end them', () => {
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
  test('keep Prometheus’ own braces, and carry labels of the site', () => {
    const rule = only(rendered(MATRIX['a PodMonitor, alerts and a dashboard']), 'PrometheusRule');
    const [group] = rule.spec.groups;
    expect(group.rules.length).toBeGreaterThan(8);
    for (const { labels } of group.rules) expect(labels).toMatchObject({ team: 'cloud' });
    const text = JSON.stringify(group);
    expect(text).toContain('{{ $labels.cluster }}');
    expect(text).toContain('isthmus_connections > 0.8 * 8192');
    expect(text).not.toContain('MAX_CONNECTIONS');
  });

  test('and the dashboard arrives as it is', () => {
    const { data } = only(rendered(MATRIX['a PodMonitor, alerts and a dashboard']), 'ConfigMap');
    expect(JSON.parse(data['isthmus.json'])).toEqual(
      JSON.parse(readFileSync(join(CHART, 'files', 'dashboard.json'), 'utf8')),
    );
  });
});

describe('the schema refuses', () => {
  test.each<[title: string, values: Values, told: RegExp]>([
    ['a misspelt key', { hostNetwrok: true }, /hostNetwrok/],
    ['a misspelt key further down', { listen: { prot: 1 } }, /listen.*prot|prot.*listen/s],
    [
      'a key of the securityContext, which is fixed',
      { securityContext: { privileged: true } },
      /securityContext/,
    ],
    ['a port that is none', { listen: { port: 70_000 } }, /listen\/port|listen\.port/],
    ['a port in words', { listen: { port: '16443' } }, /listen\/port|listen\.port/],
    ['a time without a unit', { drainTimeout: 30 }, /drainTimeout/],
    ['a time in words', { drainTimeout: 'half an hour' }, /drainTimeout/],
    ['a namespace that cannot be', { namespace: 'Magnum_System' }, /namespace/],
    ['an unknown way to live', { liveness: 'heartbeat' }, /liveness/],
    ['an operator that is none', { nodeParticipation: [{ key: 'a', operator: 'Is' }] }, /nodeParticipation/],
    ['In without values', { nodeParticipation: [{ key: 'a', operator: 'In' }] }, /nodeParticipation/],
    [
      'Exists with values',
      { nodeParticipation: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
      /nodeParticipation/,
    ],
    [
      'Gt of a word',
      { nodeParticipation: [{ key: 'a', operator: 'Gt', values: ['b'] }] },
      /nodeParticipation/,
    ],
    ['a tag that no label can be', { resourceTags: { 'a b': 'c' } }, /resourceTags/],
    ['a value of a tag that no label can be', { resourceTags: { a: 'b c' } }, /resourceTags/],
    ['the same ignored key twice', { ignoredSelectorLabels: ['a', 'a'] }, /ignoredSelectorLabels/],
    ['ports that are no range', { listeners: { ports: '20000' } }, /listeners/],
    ['a digest that is none', { image: { digest: 'sha256:1' } }, /digest/],
    ['seccomp switched off', { seccomp: { type: 'Unconfined' } }, /seccomp/],
    ['a relative directory', { netnsDirectory: 'run/netns' }, /netnsDirectory/],
    ['flags that are none', { extraArgs: ['rm -rf'] }, /extraArgs/],
  ])('%s', (_title, values, told) => {
    expect(refusal(values)).toMatch(told);
  });
});

describe('values that contradict each other are refused with a sentence', () => {
  test.each<[title: string, values: Values, told: string]>([
    [
      'surge without hand-over',
      { updateStrategy: { maxUnavailable: 0, maxSurge: 1 } },
      'two Pods cannot have one port',
    ],
    [
      'surge and unavailable',
      { hostNetwork: false, updateStrategy: { maxUnavailable: 1, maxSurge: 1 } },
      'maxUnavailable must be 0',
    ],
    ['neither', { updateStrategy: { maxUnavailable: 0 } }, 'no Pod could ever be replaced'],
    [
      'a hand-over between addresses',
      { hostNetwork: false, handover: { enabled: true } },
      "sockets of a Pod's own network end with the Pod",
    ],
    [
      'probes of a loopback that is another’s',
      { hostNetwork: false, health: { address: '127.0.0.1' } },
      'would end the Pod again and again',
    ],
    ['a policy for the host', { networkPolicy: { enabled: true } }, "does not filter the host's network"],
    [
      'two monitors',
      { monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
      'choose one',
    ],
    ['one port twice', { admin: { port: 9581 } }, 'three different ports'],
    ['no account', { serviceAccount: { create: false } }, 'serviceAccount.name'],
  ])('%s', (_title, values, told) => {
    expect(refusal(values)).toContain(told);
  });
});
