// Reads one OpenStackCluster of any known API version into the facts that the proxy needs, or into the reason why it is unusable.
// Pure: the same object always gives the same reading, and no object makes it throw.
import { isIPv6 } from 'node:net';
import { CLUSTER_NAME_LABEL, TAGS_ANNOTATION } from '../objects/object-labels.ts';
import { readTags } from '../objects/resource-tags.ts';
import { isClusterName } from '../objects/service-names.ts';
import { shownValue } from '../objects/shown-value.ts';
import { addressVerdict } from './api-server-address.ts';
import type { ClusterObject, ClusterReading, ReadingSettings, Unproxied } from './cluster-source.ts';
import { type ManifestFields, manifestFields } from './manifest-fields.ts';
import { networkId } from './network-id.ts';
import {
  isOpenStackCluster,
  KNOWN_VERSIONS,
  OPENSTACK_CLUSTER_GROUP,
  type OpenStackClusterLayout,
  openStackClusterLayout,
} from './openstack-cluster-layout.ts';

const DEFAULT_PORT = 6443;
const CAPO = 'cluster-api-provider-openstack';

/**
 * An object with `metadata.deletionTimestamp` is read like any other: Cluster API drains and deletes machines through
 * the API server. The API server must stay reachable until the object is gone.
 */
export function readOpenStackCluster(
  object: unknown,
  origin: string,
  settings: ReadingSettings,
): ClusterReading {
  const fields = manifestFields(object);
  // Problems are reported in reading order.
  const apiVersion = fields.text('apiVersion');
  const kind = fields.text('kind');
  const identity = readIdentity(fields, origin, clusterObject(object), clusterNetworkId(object));
  const unproxied = (
    outcome: 'invalid' | 'pending' | 'not-proxied',
    reason: string,
    unused: UnusedNetwork = {},
  ): ClusterReading => Object.freeze({ kind: outcome, ...identity.known, ...unused, reason });

  const supported = supportedLayout(fields, apiVersion, kind);
  if ('problem' in supported) return unproxied('invalid', supported.problem);
  const { layout } = supported;
  const direct = directReason(fields, layout);
  // A cluster that is not proxied is never reported as invalid: its other fields do not matter.
  if (direct !== null && !settings.proxyAlways) return unproxied('not-proxied', direct);

  identity.check();
  const networks = readNetworks(fields, layout, object, settings.trustSpecNetwork === true);
  const address = readAddress(fields, layout);
  const port = readPort(fields, layout);
  const { unused } = networks;
  if (fields.problems.length > 0) return unproxied('invalid', fields.problems.join('; '), unused);
  const isFact = address.kind === 'address' && address.isFact;
  const networkIds = isFact ? networks.ids : networks.specAddressIds;
  const missing = [
    ...(networkIds.length === 0 ? [NO_NETWORK] : []),
    ...(address.kind === 'missing' ? [address.reason] : []),
  ];
  if (missing.length > 0 || address.kind === 'missing')
    return unproxied('pending', missing.join('; '), unused);

  return Object.freeze({
    kind: 'proxied',
    facts: Object.freeze({
      ...identity.known,
      ...unused,
      networkIds: Object.freeze(networkIds),
      address: address.address,
      port,
    }),
  });
}

const NO_NETWORK =
  `status.network.id is missing: ${CAPO} writes it when it reconciles the cluster ` +
  '(after a restore or move: once the cluster is no longer paused)';

function supportedLayout(
  { problems }: ManifestFields,
  apiVersion: string | null,
  kind: string | null,
): { readonly layout: OpenStackClusterLayout } | { readonly problem: string } {
  if (!isOpenStackCluster(apiVersion, kind)) {
    const found = problems[0] ?? `apiVersion is ${shownValue(apiVersion)}, kind ${shownValue(kind)}`;
    return { problem: `this is not an OpenStackCluster of ${OPENSTACK_CLUSTER_GROUP} (${found})` };
  }
  const layout = openStackClusterLayout(apiVersion ?? '');
  if (layout !== null) return { layout };
  const known = KNOWN_VERSIONS.join(', ');
  return { problem: `apiVersion ${shownValue(apiVersion)} is not supported; supported are ${known}` };
}

/** Why clients reach the API server without a proxy; null if the cluster is isolated, or if the field is unreadable. */
function directReason(
  fields: ManifestFields,
  { floatingIp: { path, isolatedWhen } }: OpenStackClusterLayout,
): string | null {
  const before = fields.problems.length;
  const flag = fields.flag(path);
  const isUnreadable = fields.problems.length > before;
  if (flag === isolatedWhen || isUnreadable) return null;
  return (
    `its API server has a floating IP (${path} is ${flag ?? 'not set'}), so clients reach it directly; ` +
    `set it to ${isolatedWhen}, or use --proxy-always, to proxy the cluster`
  );
}

function readIdentity(
  fields: ManifestFields,
  origin: string,
  object: ClusterObject | null,
  clusterNetwork: string | null,
): { readonly known: Omit<Unproxied, 'reason'>; check(): void } {
  const objectName = fields.text('metadata.name');
  // kubectl always writes a namespace. A handwritten manifest may omit it and then means the same default as kubectl.
  const namespace = fields.text('metadata.namespace') ?? 'default';
  const label = ['metadata', 'labels', CLUSTER_NAME_LABEL];
  const name = fields.text(label);
  const createdAtMs = Date.parse(fields.text('metadata.creationTimestamp') ?? '');

  const objectNameFits = objectName !== null && /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/.test(objectName);
  const namespaceFits = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace);
  return {
    known: {
      // Two objects without a usable name still need different keys.
      key: objectNameFits && namespaceFits ? `${namespace}/${objectName}` : `(unnamed) ${origin}`,
      // Keep a name that is invalid for a Service, so that the operator finds the object. Drop a name with unprintable characters.
      name: name !== null && /^[\x21-\x7e]{1,253}$/.test(name) ? name : '',
      namespace: namespaceFits ? namespace : '',
      origin,
      createdAtMs: Number.isNaN(createdAtMs) ? null : createdAtMs,
      object: objectNameFits && namespaceFits ? object : null,
      ...(clusterNetwork !== null && { clusterNetworkId: clusterNetwork }),
    },
    check() {
      if (!objectNameFits)
        fields.refuse('metadata.name', objectName, 'expected the name of a Kubernetes object');
      if (!namespaceFits) fields.refuse('metadata.namespace', namespace, 'expected a Kubernetes namespace');
      if (name === null) {
        fields.refuse(
          label,
          name,
          'Cluster API sets this label to the name of the Cluster that owns the object',
        );
      } else if (!isClusterName(name)) {
        fields.refuse(
          label,
          name,
          'a Service cannot have this name. Use 1 to 63 of a-z, 0-9 and "-", with a letter first and no "-" last',
        );
      }
    },
  };
}

/** Read with separate fields: `readNetworks` reads the same path again and reports a malformed id. */
function clusterNetworkId(object: unknown): string | null {
  const text = manifestFields(object).text('status.network.id');
  return text === null ? null : networkId(text);
}

type UnusedNetwork = Pick<Unproxied, 'unusedSpecNetworkId'>;

interface Networks {
  /** Networks in which an address from status may be dialled, best first. */
  readonly ids: readonly string[];
  /** Networks in which an address from spec may be dialled. */
  readonly specAddressIds: readonly string[];
  readonly unused: UnusedNetwork;
}

/**
 * The load balancer's own network, then the cluster's, both as CAPO wrote them into status. Tenants write spec, so a network id from
 * spec could lead into the network of any other tenant. CAPO up to 0.12 resolves the load balancer's network but does not write it to
 * status. In that case only the cluster's network is used, and the health check shows whether it reaches the load balancer.
 */
function readNetworks(
  fields: ManifestFields,
  layout: OpenStackClusterLayout,
  object: unknown,
  trustSpec: boolean,
): Networks {
  const isOn = fields.flag(`${layout.loadBalancerSpec}.enabled`) !== false;
  const specPath = `${layout.loadBalancerSpec}.network.id`;
  const loadBalancer = readNetworkId(fields, `${layout.loadBalancerStatus}.loadBalancerNetwork.id`);
  const trusted = isOn && trustSpec ? readNetworkId(fields, specPath) : null;
  const cluster = readNetworkId(fields, 'status.network.id');
  const ids = [...new Set([loadBalancer, trusted, cluster])].filter((id) => id !== null);
  if (trustSpec) return { ids, specAddressIds: ids, unused: {} };

  // Read with separate fields: an unused value must not make the object invalid.
  const specId = isOn ? networkId(manifestFields(object).text(specPath) ?? '') : null;
  return {
    ids,
    // Other tenants may share the load balancer's network. An address that a tenant chose is dialled only in the cluster's own network.
    specAddressIds: cluster === null ? [] : [cluster],
    unused: specId === null || ids.includes(specId) ? {} : { unusedSpecNetworkId: specId },
  };
}

function readNetworkId(fields: ManifestFields, path: string): string | null {
  const text = fields.text(path);
  if (text === null) return null;
  const id = networkId(text);
  if (id === null) fields.refuse(path, text, 'expected the UUID of a Neutron network');
  return id;
}

type ReadAddress =
  | {
      readonly kind: 'address';
      readonly address: string;
      /** The address comes from status, which tenants cannot write. */
      readonly isFact: boolean;
    }
  | { readonly kind: 'missing'; readonly reason: string };

/** The load balancer's address, else the fixed address, else the endpoint's host if it is a private address. */
function readAddress(fields: ManifestFields, layout: OpenStackClusterLayout): ReadAddress {
  const internalIp = `${layout.loadBalancerStatus}.internalIP`;
  const hostPath = 'spec.controlPlaneEndpoint.host';
  const candidates: { readonly address: string; readonly isFact: boolean }[] = [];
  for (const path of [internalIp, layout.fixedIp]) {
    const text = fields.text(path);
    if (text === null) continue;
    const verdict = addressVerdict(text);
    if (verdict.kind === 'private' || verdict.kind === 'public')
      candidates.push({ address: verdict.address, isFact: path === internalIp });
    else fields.refuse(path, text, verdict.kind === 'refused' ? verdict.reason : 'expected an IP address');
  }
  const host = fields.text(hostPath);
  const [best] = candidates;
  if (best !== undefined) return { kind: 'address', ...best };

  const absent =
    `there is no address to dial: ${internalIp} is missing (${CAPO} writes it once the load balancer exists), ` +
    `${layout.fixedIp} is not set`;
  if (host === null) return { kind: 'missing', reason: `${absent}, and neither is ${hostPath}` };
  const verdict = addressVerdict(host);
  switch (verdict.kind) {
    case 'private':
      return { kind: 'address', address: verdict.address, isFact: false };
    case 'refused':
      fields.refuse(hostPath, host, verdict.reason);
      return { kind: 'missing', reason: '' };
    // Clients outside use a public address or a name. A connection to it from the netns would leave the tenant's network.
    case 'public':
    case 'not-an-address':
      return {
        kind: 'missing',
        reason: `${absent}, and ${hostPath} ${shownValue(host)} is not a private IP address`,
      };
  }
}

/**
 * Follows CAPO's order (`getAPIServerPort`): the endpoint's port if the endpoint is set, then `apiServerPort`, then 6443. The load
 * balancer listens on the endpoint's port even if `apiServerPort` differs.
 */
function readPort(fields: ManifestFields, layout: OpenStackClusterLayout): number {
  const endpointPort = fields.port('spec.controlPlaneEndpoint.port');
  const specPort = fields.port(layout.port);
  const endpointIsSet = fields.text('spec.controlPlaneEndpoint.host') !== null;
  return (endpointIsSet ? endpointPort : null) ?? specPort ?? endpointPort ?? DEFAULT_PORT;
}

/**
 * The OpenStackCluster in the form that references need; null if it has no name or no apiVersion. Read with separate fields: an
 * invalid value here only leaves the reference out and never makes the cluster unusable.
 */
export function clusterObject(object: unknown): ClusterObject | null {
  const fields = manifestFields(object);
  const name = fields.text('metadata.name');
  const apiVersion = fields.text('apiVersion');
  if (name === null || apiVersion === null) return null;
  const tags = fields.text(['metadata', 'annotations', TAGS_ANNOTATION]);
  return Object.freeze({
    apiVersion,
    name,
    uid: fields.text('metadata.uid'),
    directServer: directServer(fields),
    deleting: fields.text('metadata.deletionTimestamp') !== null,
    ...(tags === null ? {} : { tags: readTags(tags) }),
  });
}

/** The URL that Cluster API writes into a kubeconfig; null if the endpoint is not set or its host is invalid. */
function directServer(fields: ManifestFields): string | null {
  const host = fields.text('spec.controlPlaneEndpoint.host')?.replace(/^\[(.*)\]$/, '$1') ?? null;
  const port = fields.port('spec.controlPlaneEndpoint.port');
  if (host === null || port === null) return null;
  if (isIPv6(host)) return `https://[${host}]:${port}`;
  return /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/.test(host) ? `https://${host}:${port}` : null;
}
