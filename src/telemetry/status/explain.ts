// Answers "why is my cluster not reachable?" with the chain of links from the cluster's object to the kubeconfig of its clients. The
// first broken link comes first. A pure function of the answer of /status.
import { nearestFew } from '../../cli/config/nearest.ts';
import type { ClusterState } from '../../control/desired/cluster-status.ts';
import { endpointText } from '../../routing/addresses.ts';
import { pressureNotes } from '../metrics/pressure.ts';
import { publishedLinks } from './explain-published.ts';
import { type Explanation, type Link, type LinkName, link } from './explanation.ts';
import { listenerSentence } from './listener-text.ts';
import type { ClusterView, StatusView } from './status.ts';

export function explain(view: StatusView, asked: string): Explanation {
  const found = clusterLookup(view.clusters, asked);
  if (found.kind === 'unknown')
    return { kind: 'unknown', asked, nearest: found.nearest, known: view.clusters.length };
  const { cluster, others } = found;
  const own = ownLinks(cluster, view);
  const served = own.every(({ state }) => state === 'ok');
  const chain = [...own, ...publishedLinks(cluster, view, served)];
  const broken = chain.find(({ state }) => state === 'broken') ?? null;
  return {
    kind: 'explained',
    cluster: cluster.name,
    instance: view.instance,
    reachable: served,
    summary: summaryOf(cluster, view.instance, served, broken),
    broken,
    chain,
    notes: [
      ...networkNotes(cluster),
      ...(cluster.certificate?.problems ?? []),
      ...notesOn(view, others),
      ...pressureNotes(view.pressure, view.startedAt),
    ],
    listeners: view.listeners
      .filter((listener) => listener.cluster === cluster.name)
      .map((listener) => listenerSentence(listener)),
  };
}

/** The links from the object to the route. If one is broken, this instance serves no client of the cluster. */
function ownLinks(cluster: ClusterView, view: StatusView): Link[] {
  const links = [link('object', 'ok', `read from ${cluster.origin}`)];
  // After a broken link the later links can only wait.
  const add = (name: LinkName, holds: boolean, says: string, next: string) => {
    const isCut = links.some(({ state }) => state !== 'ok');
    if (holds && !isCut) links.push(link(name, 'ok', says));
    else
      links.push(isCut ? link(name, 'waits', WAITING[name] ?? 'not yet') : link(name, 'broken', says, next));
  };
  const { state, reason, serverNames, apiServer, backends } = cluster;
  add(
    'proxied',
    state !== 'not-proxied',
    state === 'not-proxied' ? reason : 'its API server has no floating IP, or --proxy-always is set',
    'To proxy the cluster, set spec.disableAPIServerFloatingIP: true (v1beta2: spec.apiServer.enableFloatingIP: false), or use --proxy-always.',
  );
  add(
    'name',
    serverNames.length > 0,
    serverNames.length > 0 ? serverNames.join(', ') : reason,
    'Change the label cluster.x-k8s.io/cluster-name, or remove the other object that has the name.',
  );
  const isKnown = apiServer !== undefined;
  add(
    'network',
    isKnown,
    isKnown
      ? `${apiServer.address} port ${apiServer.port} in network ${apiServer.networkIds.join(' or ')}${keptNote(state, reason)}`
      : reason,
    'Wait until the OpenStack provider writes it into the status of the OpenStackCluster (kubectl describe), or correct its spec.',
  );
  add(
    'netns',
    backends.length > 0,
    backends.length > 0 ? [...new Set(backends.map(({ netns }) => netns))].join(', ') : reason,
    'Run this on a node that hosts this network. On this node: is the DHCP or OVN metadata agent up (ip netns list), and is --netns-dir correct?',
  );
  const up = backends.filter((backend) => backend.up);
  add('backend', up.length > 0, backendText(cluster), backendNext(cluster));
  add(
    'route',
    view.ready,
    view.ready
      ? `clients that connect to ${view.listen} with one of its names are served`
      : `this instance is not ready: ${view.notReadyBecause ?? 'unknown'}`,
    'Wait until it is ready (isthmus status), or read its log.',
  );
  return links;
}

const WAITING: Partial<Readonly<Record<LinkName, string>>> = {
  name: 'it claims no name',
  network: 'not checked',
  netns: 'not checked',
  backend: 'nothing to check',
  route: 'clients get a TLS alert: the name is unknown, or the cluster is unavailable',
};

/** While an object is invalid or pending, its last valid address and networks stay in use. */
function keptNote(state: ClusterState, reason: string): string {
  return state === 'pending' || state === 'invalid' ? `, as last known: ${reason}` : '';
}

/** Each way to the API server. If there are several, it also says which one new clients use. */
function backendText({ backends }: ClusterView): string {
  const used = backends.some(({ machine }) => machine !== undefined) ? backends.find(({ up }) => up) : null;
  return backends
    .map((backend) => {
      const use = backend === used ? ', new clients use it' : '';
      return `${machineText(backend)}${endpointText(backend)} in ${backend.netns} ${probeText(backend)}${use}`;
    })
    .join('; ');
}

type BackendView = ClusterView['backends'][number];

const machineText = ({ machine }: BackendView): string =>
  machine === undefined ? '' : `Machine ${machine} at `;

function probeText({ up, lastProbe }: BackendView): string {
  if (lastProbe === null) return up ? 'is up' : 'was not checked yet';
  const { ok, error, at, durationMs } = lastProbe;
  const downText = ok ? 'is coming up' : 'is down';
  return `${up ? 'is up' : downText} (${ok ? `passed in ${durationMs} ms` : (error ?? 'failed')} at ${at})`;
}

function backendNext({ backends, netns, backend }: ClusterView): string {
  const errors = new Set(backends.map(({ lastProbe }) => lastProbe?.error ?? null));
  const byHand = `By hand: ip netns exec ${netns} curl -ksS https://${backend}/livez`;
  if (errors.size === 1 && errors.has(null)) return 'Wait for the next checks: several must pass.';
  if (errors.has('ECONNREFUSED'))
    return `Nothing listens there: is the API server, or its load balancer, up? ${byHand}`;
  const codes = [...errors].filter((code) => code !== null);
  if (codes.some((code) => LOST.has(code)))
    return `Packets get lost: security groups, or with OVN a node that does not host it (then another node serves it). ${byHand}`;
  // Only a check with --health tls reports these errors.
  if (
    codes.some(
      (code) => code === 'ECONNRESET' || code === 'EPIPE' || code === 'EPROTO' || code.startsWith('ERR_'),
    )
  )
    return `A server answers there but does not complete the TLS handshake: a load balancer without members, or another service? ${byHand}`;
  return `This node itself cannot dial: isthmus doctor shows what is missing. ${byHand}`;
}

const LOST: ReadonlySet<string> = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']);

function summaryOf(cluster: ClusterView, instance: string, served: boolean, broken: Link | null): string {
  const { name, publication } = cluster;
  const others = (publication?.readyInstances ?? 0) - (publication?.slice === 'ready' ? 1 : 0);
  const elsewhere =
    others > 0 ? `; ${others} other ${others === 1 ? 'instance serves' : 'instances serve'} it` : '';
  if (!served) return `${name} is not reachable through ${instance}${elsewhere}`;
  return broken === null
    ? `${name} is reachable through ${instance}`
    : `${name} is served by ${instance}, but its clients are not sent there${elsewhere}`;
}

/** An unused network id in spec can be the cause of the problem, so this note comes first. */
function networkNotes({ unusedSpecNetworkId }: ClusterView): string[] {
  if (unusedSpecNetworkId === undefined) return [];
  return [
    `network ${unusedSpecNetworkId} in spec was not used: no field of status names it, and a tenant can write any id into spec; ` +
      'where no tenant can write OpenStackClusters, --trust-spec-network uses it',
  ];
}

function notesOn({ control, kubernetes }: StatusView, others: readonly ClusterView[]): string[] {
  const notes: string[] = [];
  if (control.stalledSince !== null)
    notes.push(
      `the control loop has not answered since ${control.stalledSince}: this explanation uses older data`,
    );
  if (kubernetes !== null && kubernetes.staleSince !== null)
    notes.push(
      `the Kubernetes API has been stale since ${kubernetes.staleSince}: its objects may be outdated`,
    );
  if (kubernetes?.controlPlanesProblem !== undefined)
    notes.push(
      `the Machines of control planes are unreadable, so ways besides the own address of the API server are missing or old: ${kubernetes.controlPlanesProblem}`,
    );
  for (const { origin, reason } of others) notes.push(`${origin} has the same name: ${reason}`);
  return notes;
}

export type Lookup =
  | { readonly kind: 'found'; readonly cluster: ClusterView; readonly others: readonly ClusterView[] }
  | { readonly kind: 'unknown'; readonly nearest: readonly string[] };

const SUGGESTIONS = 3;

/** Finds a cluster by its name, one of its server names, or the name of its object. */
function clusterLookup(clusters: readonly ClusterView[], asked: string): Lookup {
  const wanted = asked.trim().toLowerCase().replace(/\.$/, '');
  const matches = [
    clusters.filter(({ name }) => name === asked),
    clusters.filter(({ name, serverNames }) => name.toLowerCase() === wanted || serverNames.includes(wanted)),
    // An origin is `OpenStackCluster <namespace>/<name>` or a file.
    clusters.filter(({ origin }) => origin === asked || origin.endsWith(`/${asked}`)),
  ].find((found) => found.length > 0);
  if (matches === undefined) {
    const names = [...new Set(clusters.map(({ name }) => name).filter((name) => name !== ''))];
    return { kind: 'unknown', nearest: nearestFew(wanted.split('.', 1)[0] as string, names, SUGGESTIONS) };
  }
  // If several objects share the name, the one that owns it has the server names.
  const cluster = matches.find(({ serverNames }) => serverNames.length > 0) ?? (matches[0] as ClusterView);
  return { kind: 'found', cluster, others: matches.filter((each) => each !== cluster) };
}
