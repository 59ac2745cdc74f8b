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
const PRESETS = join(CHART, 'presets');
const ALL: Readonly<Record<string, Values>> = {
  ...MATRIX,
  ...Object.fromEntries(
    readdirSync(PRESETS)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => [`presets/${name}`, parse(readFileSync(join(PRESETS, name), 'utf8'))]),
  ),
};
/** On the host network without a handover: the old Pod of a node ends before the new one starts. */
const ONE_BY_ONE = { updateStrategy: { maxUnavailable: 1, maxSurge: 0 } };
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

  test('on the host network surge with a handover by default', () => {
    const found = daemonSet();
    expect(found.spec.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    expect(settingsOf(found).environment).toMatchObject({
      ISTHMUS_HANDOVER: '/run/isthmus-pod',
      ISTHMUS_HANDOVER_DRAIN: '1h',
    });
    expect(podOf(found).terminationGracePeriodSeconds).toBe(3615);
  });

  test('with their own network differ in what a handover needs, and in nothing else', () => {
    const [host, own] = [daemonSet(), daemonSet({ hostNetwork: false })];
    expect(podOf(own).hostNetwork).toBe(false);
    expect(own.spec.updateStrategy).toEqual(host.spec.updateStrategy);
    /** A host's directory with a handover, an empty one without. */
    const isRunDirectory = (name: string) => name === 'handover' || name === 'lock';
    const bare = (found: Rendered) => {
      const pod = structuredClone(podOf(found));
      const [container] = pod.containers;
      container.env = container.env.filter(
        ({ name }: Rendered) => !/^ISTHMUS_(HANDOVER|LOCK_DIR)/.test(name),
      );
      container.volumeMounts = container.volumeMounts.filter(({ name }: Rendered) => !isRunDirectory(name));
      pod.volumes = pod.volumes.filter(({ name }: Rendered) => !isRunDirectory(name));
      for (const key of ['ports', 'readinessProbe']) delete container[key];
      for (const key of ['hostNetwork', 'terminationGracePeriodSeconds']) delete pod[key];
      return pod;
    };
    expect(bare(own)).toEqual(bare(host));
  });

  test.each<[title: string, values: Values, handsOver: boolean]>([
    ['on the host network with surge', {}, true],
    ['not on a Pod’s own network', { hostNetwork: false }, false],
    ['not if the old Pod ends first', ONE_BY_ONE, false],
    ['not with OnDelete', { updateStrategy: { type: 'OnDelete' } }, false],
    [
      'with OnDelete if the value says so',
      { updateStrategy: { type: 'OnDelete' }, handover: { enabled: true } },
      true,
    ],
    ['if the old Pod ends first and the value says so', { ...ONE_BY_ONE, handover: { enabled: true } }, true],
  ])('hand over %s', (_title, values, handsOver) => {
    const found = daemonSet(values);
    expect('ISTHMUS_HANDOVER' in settingsOf(found).environment).toBe(handsOver);
    expect(podOf(found).volumes.some(({ name }: Rendered) => name === 'handover')).toBe(handsOver);
    expect(containerOf(found).readinessProbe.initialDelaySeconds).toBe(handsOver ? 2 : undefined);
  });

  test('listen on port 16443 of the host by default, and only the slices publish the port', () => {
    const found = daemonSet();
    expect(podOf(found)).toMatchObject({ hostNetwork: true });
    expect(podOf(daemonSet(ONE_BY_ONE)).terminationGracePeriodSeconds).toBe(50);
    expect(settingsOf(found).environment).toMatchObject({
      ISTHMUS_LISTEN: '16443',
      ISTHMUS_ADMIN: '127.0.0.1:9580',
    });
    const fields = containerOf(found).env.filter(({ valueFrom }: Rendered) => valueFrom !== undefined);
    expect(fields.map(({ name, valueFrom }: Rendered) => [name, valueFrom.fieldRef.fieldPath])).toEqual([
      ['NODE_NAME', 'spec.nodeName'],
      ['POD_IP', 'status.podIP'],
      ['POD_TEMPLATE_GENERATION', "metadata.labels['pod-template-generation']"],
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
    expect(containerOf(daemonSet(ONE_BY_ONE)).ports).toHaveLength(2);
    expect(containerOf(daemonSet()).ports).toBeUndefined();
    expect(containerOf(daemonSet(MATRIX['a Pod’s own network, with surge and a policy'])).ports).toHaveLength(
      2,
    );
  });

  test('mount the handover directory only if the handover is enabled', () => {
    const volumes = (values: Values) => podOf(daemonSet(values)).volumes.map(({ name }: Rendered) => name);
    expect(volumes(ONE_BY_ONE)).toEqual(['netns', 'lock']);
    expect(volumes({})).toEqual(['netns', 'handover']);
  });

  test('that share a health port stay ready while a successor starts, because a DaemonSet would delete them', () => {
    const { readinessProbe } = containerOf(daemonSet());
    const { initialDelaySeconds, periodSeconds, failureThreshold } = readinessProbe;
    expect(initialDelaySeconds).toBe(2);
    expect(periodSeconds * (failureThreshold - 2)).toBeGreaterThan(START_LIMIT_MS / 1000);
    expect(containerOf(daemonSet(ONE_BY_ONE)).readinessProbe.failureThreshold).toBe(2);
  });

  test('are probed with the settings in the values', () => {
    const { probes, minReadySeconds } =
      MATRIX['a certificate and a selector from volumes, other probes, a slow rollout'] ?? {};
    const found = daemonSet({ probes, minReadySeconds, revisionHistoryLimit: 0 });
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(found);
    const httpGet = (path: string) => ({ httpGet: { path, port: 9581 } });
    expect(startupProbe).toEqual({
      ...httpGet('/livez'),
      periodSeconds: 5,
      timeoutSeconds: 5,
      failureThreshold: 100,
      terminationGracePeriodSeconds: 50,
    });
    expect(livenessProbe).toEqual({
      ...httpGet('/livez'),
      periodSeconds: 20,
      timeoutSeconds: 10,
      failureThreshold: 9,
      terminationGracePeriodSeconds: 50,
    });
    expect(readinessProbe).toMatchObject({
      ...httpGet('/readyz'),
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 60,
    });
    expect(found.spec).toMatchObject({ minReadySeconds: 30, revisionHistoryLimit: 0 });
  });

  test('have ten minutes of failed readiness probes during a handover, whatever their period', () => {
    const failures = (periodSeconds: number) =>
      containerOf(daemonSet({ minReadySeconds: 0, probes: { readiness: { periodSeconds } } })).readinessProbe
        .failureThreshold;
    expect([1, 5, 7, 40].map((period) => [period, failures(period)])).toEqual([
      [1, 600],
      [5, 120],
      [7, 86],
      [40, 15],
    ]);
  });

  test.each<[title: string, values: Values, seconds: number, ofPod: number]>([
    ['with a handover', {}, 50, 3615],
    ['with a longer drain', { drainTimeout: '5m', propagationWait: '10s' }, 325, 3615],
    ['with a drain longer than that of the handover', { drainTimeout: '2h' }, 7220, 7220],
    ['without a handover', ONE_BY_ONE, 50, 50],
  ])(
    'that hang are killed after a stop, not after the drain of a handover: %s',
    (_title, values, seconds, ofPod) => {
      const found = daemonSet(values);
      const { startupProbe, livenessProbe } = containerOf(found);
      expect(podOf(found).terminationGracePeriodSeconds).toBe(ofPod);
      for (const probe of [startupProbe, livenessProbe])
        expect(probe.terminationGracePeriodSeconds).toBe(seconds);
    },
  );

  test('get extra volumes beside those of the chart', () => {
    const { extraVolumes, extraVolumeMounts } =
      MATRIX['a certificate and a selector from volumes, other probes, a slow rollout'] ?? {};
    const found = daemonSet({ extraVolumes, extraVolumeMounts });
    expect(podOf(found).volumes.map(({ name }: Rendered) => name)).toEqual([
      'netns',
      'handover',
      'site-ca',
      'selector',
    ]);
    expect(containerOf(found).volumeMounts.slice(2)).toEqual(extraVolumeMounts);
  });

  test('must be ready for 15 s before the next node follows, so a version that soon crashes stops at the first node', () => {
    expect(daemonSet().spec.minReadySeconds).toBe(15);
  });

  test('are replaced as the values say', () => {
    expect(daemonSet(ONE_BY_ONE).spec.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    });
    expect(daemonSet({ updateStrategy: { type: 'OnDelete' } }).spec.updateStrategy).toEqual({
      type: 'OnDelete',
    });
  });
});

describe('monitors', () => {
  test.each([
    ['PodMonitor', 'podMonitor', 'podMetricsEndpoints'],
    ['ServiceMonitor', 'serviceMonitor', 'endpoints'],
  ])('a %s has the relabelings of the site after ours, and those of the metrics', (kind, value, list) => {
    const relabelings = [{ targetLabel: 'region', replacement: 'fra1' }];
    const metricRelabelings = [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }];
    const endpoint = (more: object) =>
      only(rendered({ monitoring: { [value]: { enabled: true, ...more } } }), kind).spec[list][0];
    const ours = endpoint({});
    expect(endpoint({ relabelings, metricRelabelings })).toEqual({
      ...ours,
      relabelings: [...ours.relabelings, ...relabelings],
      metricRelabelings,
    });
    expect(ours.metricRelabelings).toBeUndefined();
  });
});

describe('alerts', () => {
  const rulesWith = (alerts: object): readonly Rendered[] =>
    only(rendered({ monitoring: { prometheusRule: { enabled: true, alerts } } }), 'PrometheusRule').spec
      .groups[0].rules;

  test('can be switched off one by one', () => {
    const names = (alerts: object) => rulesWith(alerts).map(({ alert }) => alert);
    const all = names({});
    for (const each of all)
      expect(names({ [each]: { enabled: false } })).toEqual(all.filter((name) => name !== each));
    expect(names(Object.fromEntries(all.map((each) => [each, { enabled: false }])))).toEqual([]);
  });

  test('have the threshold and the duration of the values, and every other alert its default', () => {
    const changed = rulesWith({
      IsthmusKubernetesUnheard: { threshold: 1_000_000, for: '1m' },
      IsthmusDialsFail: { threshold: 0.05 },
      IsthmusRefuses: { threshold: 0.5, for: '2h' },
    });
    const differing = rulesWith({}).flatMap((before, index) => {
      const after = changed[index];
      return JSON.stringify(after) === JSON.stringify(before) ? [] : [[after.alert, after.expr, after.for]];
    });
    expect(differing).toEqual([
      ['IsthmusKubernetesUnheard', 'isthmus_kubernetes_stale_seconds > 1e+06', '1m'],
      ['IsthmusDialsFail', expect.stringContaining(' > 0.05 * sum by (node)'), '10m'],
      ['IsthmusRefuses', expect.stringMatching(/ > 0\.5$/), '2h'],
    ]);
  });

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
  test.each<[title: string, values: Values, message: RegExp]>([
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
    ['a volume without a source', { extraVolumes: [{ name: 'a' }] }, /extraVolumes/],
    [
      'a mount that passes mounts to the host, which needs a privileged container',
      { extraVolumeMounts: [{ name: 'a', mountPath: '/a', mountPropagation: 'Bidirectional' }] },
      /mountPropagation/,
    ],
    ['a relative mount path', { extraVolumeMounts: [{ name: 'a', mountPath: 'a' }] }, /mountPath/],
    ['a probe without a period', { probes: { liveness: { periodSeconds: 0 } } }, /periodSeconds/],
    ['a probe of its own kind', { probes: { liveness: { exec: { command: ['true'] } } } }, /exec/],
    ['a negative number of revisions', { revisionHistoryLimit: -1 }, /revisionHistoryLimit/],
    ['no dial at all', { engine: { maxPendingDials: 0 } }, /maxPendingDials/],
    [
      'an unknown relabeling action',
      { monitoring: { podMonitor: { relabelings: [{ action: 'erase' }] } } },
      /action/,
    ],
    ['an unknown alert', { monitoring: { prometheusRule: { alerts: { IsthmusSad: {} } } } }, /IsthmusSad/],
    [
      'a threshold for an alert that has none',
      { monitoring: { prometheusRule: { alerts: { IsthmusAbsent: { threshold: 1 } } } } },
      /threshold/,
    ],
    [
      'a fraction above 1',
      { monitoring: { prometheusRule: { alerts: { IsthmusDialsFail: { threshold: 20 } } } } },
      /threshold/,
    ],
    [
      'a threshold that is a word',
      { monitoring: { prometheusRule: { alerts: { IsthmusProblems: { threshold: 'many' } } } } },
      /threshold/,
    ],
  ])('%s', (_title, values, message) => {
    expect(refusal(values)).toMatch(message);
  });
});

describe('contradictory values are rejected with an explanation:', () => {
  test.each<[title: string, values: Values, message: string]>([
    ['surge without handover', { handover: { enabled: false } }, 'two Pods cannot have one port'],
    [
      'surge together with maxUnavailable',
      { hostNetwork: false, updateStrategy: { maxUnavailable: 1 } },
      'requires maxUnavailable: 0',
    ],
    ['no surge and no maxUnavailable', { updateStrategy: { maxSurge: 0 } }, 'no Pod could ever be replaced'],
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
    [
      'a volume with a name of the chart',
      { extraVolumes: [{ name: 'netns', emptyDir: {} }] },
      'the chart has a volume "netns" itself',
    ],
    [
      'two volumes of one name',
      {
        extraVolumes: [
          { name: 'a', emptyDir: {} },
          { name: 'a', emptyDir: {} },
        ],
      },
      'the name "a" is given twice',
    ],
    [
      'a mount without a volume',
      { extraVolumeMounts: [{ name: 'a', mountPath: '/a' }] },
      'no extraVolume has the name "a"',
    ],
    [
      'a mount over that of the namespaces',
      {
        extraVolumes: [{ name: 'a', emptyDir: {} }],
        extraVolumeMounts: [{ name: 'a', mountPath: '/run/netns/' }],
      },
      'the chart mounts /run/netns/ itself',
    ],
    [
      'a readiness probe that gives up before a handover may end',
      { probes: { readiness: { failureThreshold: 3 } } },
      'must be at least 60',
    ],
    [
      'a handover whose old Pod would restart before the new one counts as available',
      { minReadySeconds: 120 },
      'the old process waits 120 s',
    ],
    ['the same port twice', { admin: { port: 9581 } }, 'three different ports'],
    ['a port that listeners get', { listen: { port: 17_000 } }, '17000-17999 contains 17000'],
    ['no service account', { serviceAccount: { create: false } }, 'serviceAccount.name'],
  ])('%s', (_title, values, message) => {
    expect(refusal(values)).toContain(message);
  });
});

test('before `helm uninstall` a Job may delete the DaemonSet of its release, and nothing else', () => {
  const own = rendered({}).map(({ kind, metadata }: Rendered) => `${kind} ${metadata.name}`);
  const hooks = rendered({}, { withHooks: true }).filter(
    ({ kind, metadata }: Rendered) => !own.includes(`${kind} ${metadata.name}`),
  );
  expect(hooks.map(({ kind }) => kind)).toEqual(['ServiceAccount', 'Role', 'RoleBinding', 'Job']);
  for (const { metadata } of hooks) expect(metadata.annotations['helm.sh/hook']).toBe('pre-delete');
  const name = only(rendered({}), 'DaemonSet').metadata.name;
  expect(only(hooks, 'Role').rules).toEqual([
    { apiGroups: ['apps'], resources: ['daemonsets'], resourceNames: [name], verbs: ['get', 'delete'] },
  ]);
  const [container] = only(hooks, 'Job').spec.template.spec.containers;
  expect(container.image).toBe(only(rendered({}), 'DaemonSet').spec.template.spec.containers[0].image);
  expect(container.securityContext).toMatchObject({ runAsNonRoot: true, capabilities: { drop: ['ALL'] } });
  expect(rendered({ rbac: { create: false } }, { withHooks: true }).map(({ kind }) => kind)).not.toContain(
    'Job',
  );
});

describe('the Job before `helm uninstall`', () => {
  const templateOf = (values: Values): Rendered =>
    only(rendered(values, { withHooks: true }), 'Job').spec.template;
  const jobOf = (values: Values): Rendered => templateOf(values).spec;

  test('has a Pod that the selector in the documentation finds', () => {
    const page = readFileSync(join(ROOT, 'docs/how-to/install/kubernetes.md'), 'utf8');
    const [, selector = ''] = /describe pod -l (\S+)`/.exec(page) ?? [];
    const { labels } = templateOf({}).metadata;
    const pairs = Object.entries({ ...labels, 'app.kubernetes.io/instance': '<release>' });
    expect(selector.split(',').sort()).toEqual(pairs.map((pair) => pair.join('=')).sort());
  });

  test('prefers the nodes of the DaemonSet, and runs elsewhere if there are none', () => {
    const { nodeSelector, affinity } = jobOf({
      nodeSelector: { 'network-node': 'enabled', rack: '7' },
      affinity: MATRIX['everything else']?.affinity,
    });
    expect(nodeSelector).toBeUndefined();
    const of = (...matchExpressions: object[]) => ({ weight: 100, preference: { matchExpressions } });
    expect(affinity).toEqual({
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          of(
            { key: 'network-node', operator: 'In', values: ['enabled'] },
            { key: 'rack', operator: 'In', values: ['7'] },
          ),
          of({ key: 'openvswitch', operator: 'Exists' }),
        ],
      },
    });
    expect(jobOf({}).affinity).toBeUndefined();
  });

  test('tolerates what the Pods of a DaemonSet tolerate, and the taints of the values', () => {
    const tolerated = (values: Values) =>
      jobOf(values).tolerations.map(({ key }: Rendered) => key.replace('node.kubernetes.io/', ''));
    const always = ['unschedulable', 'disk-pressure', 'memory-pressure', 'pid-pressure'];
    const own = ['node-role.kubernetes.io/control-plane'];
    expect(tolerated({})).toEqual([...always, 'not-ready', 'network-unavailable', ...own]);
    expect(tolerated({ hostNetwork: false, tolerations: [] })).toEqual(always);
  });

  test('has the priority and the profiles of the Pods', () => {
    const appArmorProfile = { type: 'RuntimeDefault' };
    const seLinuxOptions = { type: 'spc_t' };
    const job = jobOf({ appArmorProfile, seLinuxOptions });
    expect(job.priorityClassName).toBe('system-node-critical');
    expect(job.containers[0].securityContext).toMatchObject({ appArmorProfile, seLinuxOptions });
    expect(jobOf({ priorityClassName: '' }).priorityClassName).toBeUndefined();
  });
});

test('where no Job can run before `helm uninstall`, the account stays: the Pods withdraw their slices with it', () => {
  const annotations = (values: Values) => only(rendered(values), 'ServiceAccount').metadata.annotations;
  const keep = { 'helm.sh/resource-policy': 'keep' };
  const own = { owner: 'cloud', 'helm.sh/resource-policy': 'delete' };
  expect(annotations({})).toBeUndefined();
  expect(annotations({ rbac: { create: false } })).toEqual(keep);
  expect(
    annotations({ rbac: { create: false }, serviceAccount: { annotations: { owner: 'cloud' } } }),
  ).toEqual({
    owner: 'cloud',
    ...keep,
  });
  expect(annotations({ rbac: { create: false }, serviceAccount: { annotations: own } })).toEqual(own);
  const existing = { rbac: { create: false }, serviceAccount: { create: false, name: 'site' } };
  expect(rendered(existing).map(({ kind }) => kind)).not.toContain('ServiceAccount');
});
