// Realistic site values, by their distinguishing feature. Each one is linted, rendered, and applied to a real API server.
import type { Values } from './rendering.ts';

export const MATRIX: Readonly<Record<string, Values>> = {
  'the defaults': {},
  'a Pod’s own network': { hostNetwork: false },
  'a Pod’s own network, with surge and a policy': {
    hostNetwork: false,
    updateStrategy: { maxSurge: '25%' },
    networkPolicy: {
      enabled: true,
      clients: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
      metrics: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    },
  },
  'a long drain beside a handover': { drainTimeout: '2h' },
  'the old Pod ending before the new one starts': { updateStrategy: { maxUnavailable: '10%', maxSurge: 0 } },
  'clusters in another namespace': { clusterNamespace: 'tenants' },
  'clusters everywhere': { clusterNamespace: '*', proxyAlways: true },
  'trusted specs, and netns by other names': {
    trustSpecNetwork: true,
    netnsPrefixes: ['tenant-', 'zone_1-'],
  },
  'nodes that take part, tags, ignored labels': {
    nodeParticipation: [
      { key: 'node-role', operator: 'In', values: ['network', 'edge'] },
      { key: 'maintenance', operator: 'DoesNotExist' },
      { key: 'rack', operator: 'Gt', values: ['3'] },
    ],
    unknownNode: 'stay-out',
    resourceTags: { site: 'fra1', 'example.com/team': 'cloud' },
    ignoredSelectorLabels: ['rollouts.example.com/generation'],
  },
  'API servers reached only by their own address': { controlPlaneMachines: false },
  'listeners on other ports': { listeners: { ports: '20000-20099' } },
  'no ports for listeners': {
    hostNetwork: false,
    listeners: { ports: '' },
    networkPolicy: { enabled: true },
    crds: { install: false },
  },
  'a profile of our own, SELinux, AppArmor': {
    seccomp: { type: 'Localhost', localhostProfile: 'profiles/isthmus.json' },
    seLinuxOptions: { type: 'spc_t' },
    appArmorProfile: { type: 'RuntimeDefault' },
  },
  'a PodMonitor, alerts and a dashboard': {
    monitoring: {
      podMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, alertLabels: { team: 'cloud' } },
      grafanaDashboard: { enabled: true, annotations: { grafana_folder: 'OpenStack' } },
    },
  },
  'a PodMonitor where Pods declare no ports': { monitoring: { podMonitor: { enabled: true } } },
  'a PodMonitor where Pods declare ports': {
    hostNetwork: false,
    monitoring: { podMonitor: { enabled: true } },
  },
  'a ServiceMonitor where two Pods share a port': { monitoring: { serviceMonitor: { enabled: true } } },
  'a ServiceMonitor without surge': {
    updateStrategy: { type: 'OnDelete' },
    monitoring: { serviceMonitor: { enabled: true, interval: '15s' } },
  },
  'relabelings of a PodMonitor, and alerts of a site': {
    monitoring: {
      podMonitor: {
        enabled: true,
        relabelings: [{ targetLabel: 'region', replacement: 'fra1' }],
        metricRelabelings: [{ action: 'drop', sourceLabels: ['__name__'], regex: 'nodejs_.*' }],
      },
      prometheusRule: {
        enabled: true,
        alerts: {
          IsthmusAbsent: { enabled: false },
          IsthmusDialsFail: { threshold: 0.05, for: '1h' },
          IsthmusKubernetesUnheard: { threshold: 1_000_000 },
        },
      },
    },
  },
  'relabelings of a ServiceMonitor': {
    monitoring: {
      serviceMonitor: {
        enabled: true,
        relabelings: [{ action: 'labelmap', regex: '__meta_kubernetes_pod_label_(.+)' }],
        metricRelabelings: [
          { sourceLabels: ['cluster', 'namespace'], separator: '/', targetLabel: 'id', regex: '(.*)' },
        ],
      },
    },
  },
  'a certificate and a selector from volumes, other probes, a slow rollout': {
    extraVolumes: [
      { name: 'site-ca', configMap: { name: 'site-ca' } },
      { name: 'selector', hostPath: { path: '/etc/isthmus', type: 'Directory' } },
    ],
    extraVolumeMounts: [
      { name: 'site-ca', mountPath: '/etc/ssl/site', readOnly: true },
      { name: 'selector', mountPath: '/etc/isthmus', readOnly: true, mountPropagation: 'HostToContainer' },
    ],
    extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ssl/site/ca.crt' }],
    engine: { maxPendingDials: 64 },
    minReadySeconds: 30,
    revisionHistoryLimit: 3,
    probes: {
      startup: { periodSeconds: 5, failureThreshold: 100 },
      liveness: { periodSeconds: 20, timeoutSeconds: 10, failureThreshold: 9 },
      readiness: { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 60 },
    },
  },
  'names as long as Kubernetes allows': {
    nameOverride: 'n'.repeat(63),
    fullnameOverride: `${'f'.repeat(52)}-${'f'.repeat(10)}`,
    monitoring: { serviceMonitor: { enabled: true } },
  },
  'an affinity of null': { affinity: null },
  'a node affinity of null': { affinity: { nodeAffinity: null, podAntiAffinity: {} } },
  'a node affinity with preferences only': {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: null,
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: 'rack', operator: 'Exists' }] } },
        ],
      },
    },
  },
  'everything else': {
    nameOverride: 'narrows',
    fullnameOverride: 'the-narrows',
    commonLabels: { site: 'fra1' },
    image: { repository: 'registry.example:5000/cloud/isthmus', digest: `sha256:${'0a'.repeat(32)}` },
    imagePullSecrets: [{ name: 'registry' }],
    listen: { port: 26443, address: 'fd00::1' },
    health: { port: 29581, address: '127.0.0.1' },
    advertiseAddress: '192.0.2.7',
    trustProxyProtocol: ['10.0.0.0/8', 'fd00::/8'],
    apiServer: { host: '10.20.0.10', port: 6444 },
    defaultCluster: 'kube-1',
    allowMassDelete: true,
    liveness: 'timestamp',
    engine: { kind: 'streams', threads: 2, maxConnections: 1_000_000 },
    backendCheck: { kind: 'tls', interval: '500ms', rise: 1, fall: 3 },
    log: { level: 'debug', format: 'pretty' },
    extraArgs: ['--max-pending-dials=64'],
    extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=128' }],
    nodeSelector: { 'openstack-control-plane': 'enabled' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'openvswitch', operator: 'Exists' }] }],
        },
      },
    },
    tolerations: [{ operator: 'Exists' }],
    priorityClassName: '',
    resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } },
    updateStrategy: { type: 'OnDelete' },
    podLabels: { tier: 'edge' },
    podAnnotations: { note: 'x' },
    serviceAccount: { name: 'narrows', annotations: { owner: 'cloud' } },
  },
};
