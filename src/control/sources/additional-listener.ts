// Reads one AdditionalListener into the input for a pool and its Service, or into all reasons why it is unusable. Pure: the same object
// always gives the same reading, and no object makes it throw.
import { isIP, SocketAddress } from 'node:net';
import { refuseUnknownFields } from '../../kube/labels/label-requirement.ts';
import { isClusterName } from '../objects/service-names.ts';
import { byText } from '../objects/text-order.ts';
import { isRecord, type ManifestFields, manifestFields } from './manifest-fields.ts';
import { type PoolSelection, readPoolSelection } from './pool-membership.ts';

export const LISTENER_GROUP = 'isthmus.dev';
export const LISTENER_KIND = 'AdditionalListener';
export const LISTENER_VERSIONS: readonly string[] = ['v1alpha1'];

/** True for an AdditionalListener of any version. */
export const isAdditionalListener = (apiVersion: unknown, kind: unknown): boolean =>
  kind === LISTENER_KIND && typeof apiVersion === 'string' && apiVersion.startsWith(`${LISTENER_GROUP}/`);

export interface ListenerReadingSettings {
  /** `--ignored-selector-labels` */
  readonly ignoredLabels: ReadonlySet<string>;
  /** The object comes from a file, where no API rejects unknown fields. A misspelt allowedCIDRs would allow every client. */
  readonly fromFile?: boolean;
}

/** The object behind a reading: the fields that references need, and its current status. */
export interface ListenerObject {
  readonly apiVersion: string;
  /** null for an object from a file. */
  readonly uid: string | null;
  readonly generation: number | null;
  /** As in the API, of unknown shape; null if absent. */
  readonly status: Readonly<Record<string, unknown>> | null;
}

/** The requested configuration of a valid listener. */
export interface ListenerDefinition {
  readonly cluster: string;
  /** Second part of the Service name. */
  readonly poolName: string;
  readonly protocol: 'TCP' | 'TLS';
  readonly port: number;
  readonly targetPort: number;
  readonly selection: PoolSelection;
  /** Equal for selectors with equal meaning. A different digest shows that the selector was edited. */
  readonly selectorDigest: string;
  readonly allowedCidrs: readonly string[];
}

export interface ListenerReading {
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly origin: string;
  /** Infinity if unknown: an object with a known age takes precedence. */
  readonly createdAtMs: number;
  /** The object has a deletionTimestamp and waits for a finalizer. Isthmus removes its Service as if the object were already gone. */
  readonly deleting: boolean;
  readonly object: ListenerObject;
  /** The values that could be read, for `/status`. */
  readonly shown: Pick<ListenerDefinition, 'cluster' | 'protocol' | 'port' | 'targetPort'>;
  /** null if the object is invalid and must be edited. */
  readonly definition: ListenerDefinition | null;
  /** Why `definition` is null. Empty if it is not null. */
  readonly problems: readonly string[];
}

/** The port of the cluster's own Service, which kubeconfigs use. */
const CLUSTER_PORT = 6443;
const POOL_NAME = /^(?:[a-z]|[a-z][-a-z0-9]{0,61}[a-z0-9])$/;
const MAX_CIDRS = 64;
const FIELDS: readonly string[] = [
  'clusterName',
  'defaultPoolName',
  'port',
  'targetPort',
  'protocol',
  'selector',
  'rolloutLabels',
  'allowedCIDRs',
];

export function readAdditionalListener(
  object: unknown,
  origin: string,
  { ignoredLabels, fromFile = false }: ListenerReadingSettings,
): ListenerReading {
  const fields = manifestFields(object);
  const { name, namespace, createdAtMs } = readIdentity(fields);
  const spec = isRecord(object) && isRecord(object.spec) ? object.spec : {};
  const unknown = fromFile ? unknownParts(fields, spec) : [];
  const cluster = readCluster(fields);
  const poolName = readPoolName(fields);
  const port = readPort(fields);
  const targetPort = fields.port('spec.targetPort') ?? port;
  const shown = Object.freeze({ cluster, protocol: readProtocol(fields), port, targetPort });
  const allowedCidrs = readCidrs(fields, spec.allowedCIDRs);
  const { selector, rolloutLabels } = spec;
  const pool = readPoolSelection({ selector, rolloutLabels }, ignoredLabels);
  const problems = [...fields.problems, ...unknown, ...(pool.kind === 'refused' ? pool.problems : [])];
  return Object.freeze({
    key: `${namespace}/${name}`,
    name,
    namespace,
    origin,
    createdAtMs,
    deleting: fields.text('metadata.deletionTimestamp') !== null,
    object: readObject(object, fields),
    shown,
    definition:
      problems.length > 0 || pool.kind === 'refused'
        ? null
        : Object.freeze({
            ...shown,
            poolName: poolName ?? name,
            selection: pool.selection,
            selectorDigest: selectorDigest(selector),
            allowedCidrs,
          }),
    problems: Object.freeze(problems),
  });
}

function readIdentity(fields: ManifestFields): Pick<ListenerReading, 'name' | 'namespace' | 'createdAtMs'> {
  const name = fields.text('metadata.name') ?? '';
  const namespace = fields.text('metadata.namespace') ?? 'default';
  if (name === '') fields.refuse('metadata.name', name, 'expected a name');
  const createdAtMs = Date.parse(fields.text('metadata.creationTimestamp') ?? '');
  return { name, namespace, createdAtMs: Number.isNaN(createdAtMs) ? Number.POSITIVE_INFINITY : createdAtMs };
}

/** Empty if the name is invalid. */
function readCluster(fields: ManifestFields): string {
  const cluster = fields.text('spec.clusterName') ?? '';
  if (isClusterName(cluster)) return cluster;
  fields.refuse('spec.clusterName', cluster, 'expected the name of a cluster in this namespace');
  return '';
}

function readPoolName(fields: ManifestFields): string | null {
  const poolName = fields.text('spec.defaultPoolName');
  const rule = 'use 1 to 63 of a-z, 0-9 and "-", with a letter first and no "-" last';
  if (poolName !== null && !POOL_NAME.test(poolName)) fields.refuse('spec.defaultPoolName', poolName, rule);
  return poolName;
}

function readProtocol(fields: ManifestFields): ListenerDefinition['protocol'] {
  const protocol = fields.text('spec.protocol') ?? 'TCP';
  if (protocol === 'TCP' || protocol === 'TLS') return protocol;
  fields.refuse('spec.protocol', protocol, 'expected TCP or TLS');
  return 'TCP';
}

function unknownParts(fields: ManifestFields, spec: Readonly<Record<string, unknown>>): readonly string[] {
  const apiVersion = fields.text('apiVersion');
  const known = LISTENER_VERSIONS.map((version) => `${LISTENER_GROUP}/${version}`);
  if (!known.includes(apiVersion ?? ''))
    fields.refuse('apiVersion', apiVersion, `expected ${known.join(' or ')}`);
  const problems: string[] = [];
  refuseUnknownFields(spec, 'spec', FIELDS, problems);
  return problems;
}

function readPort(fields: ManifestFields): number {
  const before = fields.problems.length;
  const port = fields.port('spec.port');
  if (port === null && fields.problems.length === before)
    fields.refuse('spec.port', port, 'expected the port of its Service');
  if (port === CLUSTER_PORT)
    fields.refuse('spec.port', port, "the cluster's own Service uses this port: use another one");
  return port ?? 0;
}

function readCidrs(fields: ManifestFields, list: unknown): readonly string[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) {
    fields.refuse('spec.allowedCIDRs', list, 'expected a list of ranges');
    return [];
  }
  if (list.length > MAX_CIDRS)
    fields.refuse('spec.allowedCIDRs', list.length, `${MAX_CIDRS} ranges is the limit`);
  const found = new Set<string>();
  for (const [index, each] of list.slice(0, MAX_CIDRS).entries()) {
    const cidr = typeof each === 'string' ? canonicalCidr(each) : null;
    if (cidr === null)
      fields.refuse(`spec.allowedCIDRs[${index}]`, each, 'expected a range such as 192.0.2.0/24');
    else found.add(cidr);
  }
  return Object.freeze([...found].sort(byText));
}

function readObject(object: unknown, fields: ManifestFields): ListenerObject {
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
  const status = isRecord(object) && isRecord(object.status) ? object.status : null;
  return Object.freeze({
    apiVersion: fields.text('apiVersion') ?? `${LISTENER_GROUP}/${LISTENER_VERSIONS[0]}`,
    uid: fields.text('metadata.uid'),
    generation: typeof metadata.generation === 'number' ? metadata.generation : null,
    status,
  });
}

/** A digest of the meaning: label order and empty parts make no difference. */
export function selectorDigest(selector: unknown): string {
  const { matchLabels, matchExpressions } = isRecord(selector)
    ? selector
    : { matchLabels: null, matchExpressions: null };
  const labels = isRecord(matchLabels) ? Object.entries(matchLabels).sort(([a], [b]) => byText(a, b)) : [];
  const expressions = (Array.isArray(matchExpressions) ? matchExpressions : [])
    .filter(isRecord)
    .map(({ key, operator, values }) => JSON.stringify([key, operator, Array.isArray(values) ? values : []]))
    .sort(byText);
  // Loaded on first use: an instance without listeners does not need cryptography.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256')
    .update(JSON.stringify([labels, expressions]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * A range of addresses (`192.0.2.0/24`) in canonical form; null if the text is not a range. Bits after the prefix may be set and are
 * ignored, as in Kubernetes.
 */
export function canonicalCidr(text: string): string | null {
  const match = /^([0-9A-Fa-f:.]+)\/(\d{1,3})$/.exec(text);
  if (match === null) return null;
  const [, bare = '', digits = ''] = match;
  const version = isIP(bare);
  const length = Number(digits);
  if (version === 0 || length > (version === 4 ? 32 : 128) || digits !== String(length)) return null;
  const { address } = new SocketAddress({ address: bare, family: version === 4 ? 'ipv4' : 'ipv6' });
  // An IPv4 range in IPv6 notation would never match a client's address.
  return address.startsWith('::ffff:') ? null : `${address}/${length}`;
}
