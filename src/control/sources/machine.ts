// Reads one Machine of Cluster API into the facts that pools and clusters need. It keeps few fields, because a site has thousands of machines. Pure:
// no object makes it throw, and an invalid one becomes a machine without addresses.
import type { Labels } from '../../kube/labels/label-requirement.ts';
import { CLUSTER_NAME_LABEL, CONTROL_PLANE_LABEL } from '../objects/object-labels.ts';
import { shownValue } from '../objects/shown-value.ts';
import { byText } from '../objects/text-order.ts';
import { addressVerdict } from './api-server-address.ts';
import { isRecord, manifestFields } from './manifest-fields.ts';

export const MACHINE_GROUP = 'cluster.x-k8s.io';
const MACHINE_KIND = 'Machine';
/** Best first. Both versions have these fields at the same paths. */
export const MACHINE_VERSIONS: readonly string[] = ['v1beta2', 'v1beta1'];

/** True for a Machine of any version: the fields in use have the same paths in all of them. */
export const isMachine = (apiVersion: unknown, kind: unknown): boolean =>
  kind === MACHINE_KIND && typeof apiVersion === 'string' && apiVersion.startsWith(`${MACHINE_GROUP}/`);

export interface MachineFacts {
  /** `<namespace>/<name>` */
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  /** Empty if the machine names no cluster. Such a machine belongs to no pool. */
  readonly cluster: string;
  readonly labels: Labels;
  /** Addresses inside the cluster's network in canonical text, without duplicates, in the order of the object. */
  readonly addresses: readonly string[];
  /** Why there is no address; null if there is one. */
  readonly addressProblem: string | null;
  /** The machine is being deleted and gets no new clients. */
  readonly leaving: boolean;
}

/** A machine has a few addresses. The limit keeps a Machine with thousands of them from causing thousands of probes. */
const MAX_ADDRESSES = 8;
const LEAVING_PHASES: ReadonlySet<string> = new Set(['Deleting', 'Deleted']);

export function readMachine(object: unknown): MachineFacts {
  const fields = manifestFields(object);
  const name = fields.text('metadata.name') ?? '';
  const namespace = fields.text('metadata.namespace') ?? 'default';
  const phase = fields.text('status.phase');
  const { addresses, problem } = readAddresses(object, phase);
  return Object.freeze({
    key: `${namespace}/${name}`,
    name,
    namespace,
    // spec.clusterName is immutable in the API. The label is editable and could name another cluster.
    cluster: fields.text('spec.clusterName') ?? fields.text(['metadata', 'labels', CLUSTER_NAME_LABEL]) ?? '',
    labels: readLabels(object),
    addresses,
    addressProblem: problem,
    leaving:
      fields.text('metadata.deletionTimestamp') !== null || (phase !== null && LEAVING_PHASES.has(phase)),
  });
}

function readLabels(object: unknown): Labels {
  const metadata = isRecord(object) ? object.metadata : null;
  const labels = isRecord(metadata) ? metadata.labels : null;
  if (!isRecord(labels)) return {};
  return Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function readAddresses(
  object: unknown,
  phase: string | null,
): { readonly addresses: readonly string[]; readonly problem: string | null } {
  const status = isRecord(object) ? object.status : null;
  const list = isRecord(status) ? status.addresses : null;
  const found = new Set<string>();
  const refused: string[] = [];
  for (const each of Array.isArray(list) ? list : []) {
    if (!isRecord(each) || each.type !== 'InternalIP' || typeof each.address !== 'string') continue;
    const verdict = addressVerdict(each.address);
    if (verdict.kind === 'private' || verdict.kind === 'public') found.add(verdict.address);
    else
      refused.push(
        `${shownValue(each.address)}: ${verdict.kind === 'refused' ? verdict.reason : 'not an IP address'}`,
      );
    if (found.size >= MAX_ADDRESSES) break;
  }
  if (found.size > 0) return { addresses: Object.freeze([...found]), problem: null };
  const problem =
    refused.length > 0
      ? `none of its addresses can be dialled: ${refused.slice(0, 3).join('; ')}`
      : `it has no InternalIP in status.addresses yet${phase === null ? '' : ` (phase ${shownValue(phase)})`}`;
  return { addresses: [], problem };
}

export const isControlPlane = ({ labels }: MachineFacts): boolean =>
  Object.hasOwn(labels, CONTROL_PLANE_LABEL);

/** Machines by cluster. A site has thousands of machines, so a lookup must not scan them all. */
export interface MachineIndex {
  /** Sorted by name. */
  of(namespace: string, cluster: string): readonly MachineFacts[];
}

export function machineIndex(machines: readonly MachineFacts[]): MachineIndex {
  const owned = machines.filter(({ cluster }) => cluster !== '');
  const byCluster = Map.groupBy(owned, ({ namespace, cluster }) => `${namespace}/${cluster}`);
  for (const list of byCluster.values()) list.sort((a, b) => byText(a.name, b.name));
  return { of: (namespace, cluster) => byCluster.get(`${namespace}/${cluster}`) ?? [] };
}
