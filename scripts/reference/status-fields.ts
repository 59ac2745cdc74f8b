// What each field of /status means. The types of this table follow the types of /status: a field, a state or a type that is missing or
// wrong here does not compile.
import type { KubernetesStatus } from '../../src/control/apply/kubernetes-status.ts';
import type { ClusterStatus } from '../../src/control/desired/cluster-status.ts';
import type { PublicationStatus } from '../../src/control/plan/plan.ts';
import type { Traffic } from '../../src/telemetry/metrics/traffic.ts';
import type { ListenerView, MemberCounts, MemberView } from '../../src/telemetry/status/listener-view.ts';
import type { ProbeView } from '../../src/telemetry/status/probe-view.ts';
import type { ClusterView, StatusView } from '../../src/telemetry/status/status.ts';

type BaseName<T> = [T] extends [string]
  ? 'string'
  : [T] extends [number]
    ? 'number'
    : [T] extends [boolean]
      ? 'boolean'
      : [T] extends [readonly string[]]
        ? 'list of strings'
        : [T] extends [readonly unknown[]]
          ? 'list'
          : 'object';
type TypeName<T> = [null] extends [T] ? `${BaseName<NonNullable<T>>} or null` : BaseName<T>;
/** A field that has only certain values says what each one means. */
type Values<T> = [T] extends [string] ? (string extends T ? [] : [values: Readonly<Record<T, string>>]) : [];
type Field<T, K extends keyof T> = readonly [
  type: Record<never, never> extends Pick<T, K>
    ? `${TypeName<Exclude<T[K], undefined>>}, optional`
    : TypeName<T[K]>,
  meaning: string,
  ...Values<NonNullable<T[K]>>,
];
type Fields<T> = { readonly [K in keyof T]-?: Field<T, K> };

const STATUS: Fields<StatusView> = {
  instance: ['string', 'name of this instance'],
  version: ['string', 'version of Isthmus'],
  startedAt: ['string', 'start of the process (ISO 8601, UTC); the counters begin here'],
  uptimeSeconds: ['number', 'time since the start, from a clock that is never set'],
  listen: ['string or null', 'address of `--listen`; null before it is open'],
  ready: ['boolean', 'the instance is ready, as in `/readyz`'],
  notReadyBecause: ['string or null', 'the reason while `ready` is false'],
  connections: ['number', 'open connections'],
  pendingDials: ['number', 'unfinished dials to backends'],
  pressure: [
    'object',
    'clients refused, evicted or aborted since the start because a shared resource ran out; a count for each cause that occurred: an [outcome](connection-outcomes.md), `EBACKENDDOWN`, `evicted-health` or `evicted-admin`',
  ],
  traffic: ['object', 'counters of all ended connections'],
  kubernetes: [
    'object or null',
    'the Kubernetes API; null with `--source file:`, and before the first report',
  ],
  control: ['object', 'the control loop'],
  clusters: ['list', 'one item for each OpenStackCluster'],
  listeners: ['list', 'one item for each AdditionalListener'],
  problems: ['list', 'problems that do not belong to a single cluster'],
};

const TRAFFIC: Fields<Traffic> = {
  ended: ['number', 'ended connections'],
  unserved: ['number', 'those of them that reached no backend'],
  bytesFromClient: ['number', 'bytes that clients sent; counted when a connection ends'],
  bytesFromBackend: ['number', 'bytes that backends sent; counted when a connection ends'],
};

const KUBERNETES: Fields<KubernetesStatus> = {
  server: ['string', 'URL of the API'],
  identity: ['string', 'origin of the credentials; contains no secret'],
  instance: ['string', 'name of this instance in Leases and slices'],
  lease: [
    'string',
    'the Lease of this node',
    { 'not-yet': 'not acquired yet', held: 'this instance holds it', lost: 'another process holds it' },
  ],
  liveness: [
    'string or null',
    'how this instance judges other instances; null while unknown',
    { lease: 'by their Leases', timestamp: 'by timestamps, as magnum-cluster-api-proxy does' },
  ],
  instances: ['number or null', 'live instances, this one included; null while unknown'],
  takesPart: ['boolean or null', 'this instance receives clients (`--node-selector`); null while unknown'],
  takesPartBecause: ['string or null', 'the reason for `takesPart`'],
  controlPlanesProblem: ['string, optional', 'why the Machines of control planes are unreadable'],
  staleSince: ['string or null', 'since when a watch is broken (ISO 8601, UTC); null while all watches work'],
  calls: ['object', 'requests since the start, a count for each verb'],
};

const CONTROL: Fields<StatusView['control']> = {
  stalledSince: [
    'string or null',
    'when the control loop stopped answering (ISO 8601, UTC): routes and states do not change since then; null while it answers',
  ],
  lagMs: [
    'number',
    'how long the control loop took to answer the last heartbeat, or how long the heartbeat has waited',
  ],
  probesAt: ['string or null', 'the time of all `lastProbe` in this answer; null before the first'],
};

const PROBLEM: Fields<StatusView['problems'][number]> = {
  origin: ['string', 'the file, object or part with the problem'],
  reason: ['string', 'what is wrong'],
};

const PROBE: Fields<ProbeView> = {
  at: ['string', 'time of the health check (ISO 8601, UTC)'],
  ok: ['boolean', 'it passed'],
  durationMs: ['number', 'how long it took'],
  error: ['string or null', 'error code; null if it passed'],
};

const CLUSTER: Fields<ClusterView> = {
  name: ['string', 'name of the cluster'],
  namespace: ['string', 'namespace of its OpenStackCluster'],
  origin: ['string', 'the file or the object that declares it'],
  state: [
    'string',
    'state on this instance',
    {
      serving: 'clients reach a backend',
      unhealthy: 'no backend passes its checks',
      'no-netns': 'no netns of this host belongs to its network',
      pending: 'facts are missing; the last known route stays',
      'not-proxied': 'clients reach it without this proxy',
      invalid: 'an operator must edit the object',
    },
  ],
  reason: ['string', 'why the cluster is in this state, and what would change it'],
  serverNames: ['list of strings', 'server names that lead to this cluster'],
  ownServerNames: [
    'list of strings, optional',
    'names of its own namespace, which lead here while another cluster holds its name',
  ],
  certificate: ['object, optional', 'the certificate of its API server; absent while it is unknown'],
  apiServer: ['object, optional', 'the location of the API server, from the object'],
  unusedSpecNetworkId: ['string, optional', 'a network that only spec names (`--trust-spec-network`)'],
  publication: ['object, optional', 'its objects in Kubernetes; absent if it is not published'],
  netns: ['string or null', 'netns of the shown backend: the first that is up, else the first'],
  backend: ['string or null', 'address and port of the shown backend'],
  lastProbe: ['object or null', 'last health check of the shown backend'],
  connections: ['number', 'open connections to its API server'],
  traffic: ['object', 'counters of its ended connections, without those of its listeners'],
  backends: ['list', 'all backends, best first'],
};

const API_SERVER: Fields<NonNullable<ClusterStatus['apiServer']>> = {
  networkIds: ['list of strings', 'Neutron network ids, best first'],
  address: ['string', 'address in that network'],
  port: ['number', 'port'],
};

const CERTIFICATE: Fields<NonNullable<ClusterStatus['certificate']>> = {
  names: ['list of strings', 'its DNS names and addresses'],
  omitted: ['number', 'names that are not listed, because they are unusual or too many'],
  notAfter: ['string', 'its end (ISO 8601, UTC)'],
  expiry: [
    'string',
    'when it was read, at most a day ago',
    { valid: 'it was valid for 30 days and more', soon: 'it was valid for less', expired: 'it had ended' },
  ],
  verifies: ['boolean', 'it contains one of `serverNames`'],
  problems: ['list of strings', 'what an operator should know about it'],
};

const BACKEND: Fields<ClusterView['backends'][number]> = {
  address: ['string', 'address in the netns'],
  port: ['number', 'port'],
  netns: ['string', 'name of the netns'],
  machine: [
    'string, optional',
    'the control-plane Machine that has the address; absent: the own address of the API server',
  ],
  up: ['boolean', 'it passes its health checks'],
  lastProbe: ['object or null', 'last health check'],
};

const PUBLICATION: Fields<PublicationStatus> = {
  service: [
    'string',
    'the Service of the cluster',
    {
      ours: 'Isthmus owns it',
      upstream: 'magnum-cluster-api-proxy owns it',
      foreign: 'another program owns it, so Isthmus does not change it',
      absent: 'it does not exist',
    },
  ],
  slice: [
    'string',
    'the EndpointSlice of this instance',
    { ready: 'clients are sent here', terminating: 'it is being withdrawn', absent: 'it does not exist' },
  ],
  readyInstances: ['number', 'instances that are ready for clients, this one included'],
  kubeconfig: [
    'string',
    'the server in the kubeconfig of the cluster',
    {
      proxied: 'it is the proxy',
      direct: 'it is another server',
      unread: 'not known yet',
      absent: 'the kubeconfig does not exist',
      'left-alone': 'Isthmus does not change this kubeconfig; `problem` says why',
      unverifiable: 'clients would reject the certificate, so Isthmus does not write it; `problem` says why',
    },
  ],
  problem: ['string or null', 'what is wrong; null if nothing is'],
};

const LISTENER: Fields<ListenerView> = {
  name: ['string', 'name of the AdditionalListener'],
  namespace: ['string', 'its namespace'],
  cluster: ['string', 'the cluster that it belongs to'],
  protocol: ['string', 'protocol', { TCP: 'a port of its own', TLS: 'the port of the clusters' }],
  port: ['number', 'port of its Service'],
  targetPort: ['number', 'port of the machines'],
  service: ['string or null', 'name of its Service; null until it may have one'],
  listenPort: ['number or null', 'its port on this instance; null until it is open, and for TLS'],
  serverNames: ['list of strings', 'server names that lead to this listener'],
  state: [
    'string',
    'state on this instance',
    {
      serving: 'clients reach a member',
      unhealthy: 'no member passes its checks',
      'no-members': 'no machine matches',
      'no-netns': 'no netns of this host belongs to its network',
      pending: 'a prerequisite is missing',
      invalid: 'an operator must edit the listener',
    },
  ],
  reason: ['string', 'why the listener is in this state'],
  detail: ['string or null', 'more about the reason; may change with every health check'],
  nameConflict: ['string, optional', 'why its Service does not have its plain name'],
  connections: ['number', 'open connections'],
  traffic: ['object', 'counters of its ended connections'],
  counts: ['object', 'members by state'],
  members: ['list', 'at most 100 members; if there are more, those that are not ready come first'],
};

const COUNTS: Fields<MemberCounts> = {
  members: ['number', 'all members'],
  ready: ['number', 'members in state `Ready`'],
  notReady: ['number', 'members in state `NotReady`'],
  ignored: ['number', 'members in state `Ignored`'],
};

const MEMBER: Fields<MemberView> = {
  machine: ['string', 'name of the Machine'],
  address: ['string or null', 'its address; null if this host can dial none'],
  netns: ['string or null', 'name of the netns'],
  state: [
    'string',
    'state of the member',
    {
      Ready: 'it passes its checks and gets clients',
      NotReady: 'it does not pass its checks',
      Ignored:
        'a machine of the next or the previous generation: it gets no clients and its health does not count',
    },
  ],
  up: ['boolean', 'it passes its health checks'],
  reason: ['string', 'why it is in this state'],
  lastProbe: ['object or null', 'last health check'],
};

export type FieldRow = readonly [type: string, meaning: string, values?: Readonly<Record<string, string>>];
export type FieldTable = Readonly<Record<string, FieldRow>>;

/** By the path of the object, as jq writes it. */
export const STATUS_TABLES: Readonly<Record<string, FieldTable>> = {
  '': STATUS,
  '.traffic': TRAFFIC,
  '.kubernetes': KUBERNETES,
  '.control': CONTROL,
  '.problems[]': PROBLEM,
  '.clusters[]': CLUSTER,
  '.clusters[].apiServer': API_SERVER,
  '.clusters[].certificate': CERTIFICATE,
  '.clusters[].publication': PUBLICATION,
  '.clusters[].lastProbe': PROBE,
  '.clusters[].traffic': TRAFFIC,
  '.clusters[].backends[]': BACKEND,
  '.clusters[].backends[].lastProbe': PROBE,
  '.listeners[]': LISTENER,
  '.listeners[].traffic': TRAFFIC,
  '.listeners[].counts': COUNTS,
  '.listeners[].members[]': MEMBER,
  '.listeners[].members[].lastProbe': PROBE,
};
