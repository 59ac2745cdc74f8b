// Replaces CAPO's conversion webhook for the fields of our definitions: converts an OpenStackCluster to another version. A table
// lists the place of each field in each version. All conversions go through v1beta1.
import {
  apiVersionOf,
  type GroupVersion,
  groupVersionOf,
  isMap,
  type JsonMap,
  type StoredObject,
} from '../stored-object.ts';

type Move = readonly [v1beta1: string, other: string];

const V1BETA2: readonly Move[] = [
  ['spec.apiServerFloatingIP', 'spec.apiServer.floatingIP'],
  ['spec.apiServerFixedIP', 'spec.apiServer.fixedIP'],
  ['spec.apiServerPort', 'spec.apiServer.port'],
  ['spec.apiServerLoadBalancer', 'spec.apiServer.managedLoadBalancer'],
  ['status.apiServerLoadBalancer', 'status.apiServerManagedLoadBalancer'],
];

const MOVES: Readonly<Record<string, readonly Move[]>> = {
  v1alpha6: [['status.apiServerLoadBalancer', 'status.network.apiServerLoadBalancer']],
  v1alpha7: [],
  v1beta1: [],
  v1beta2: V1BETA2,
};

const FLAG: Move = ['spec.disableAPIServerFloatingIP', 'spec.apiServer.enableFloatingIP'];

function take(root: JsonMap, path: string): unknown {
  const keys = path.split('.');
  const last = keys.pop() as string;
  let parent: unknown = root;
  for (const key of keys) parent = isMap(parent) ? parent[key] : undefined;
  if (!isMap(parent)) return undefined;
  const value = parent[last];
  delete parent[last];
  return value;
}

function put(root: JsonMap, path: string, value: unknown): void {
  if (value === undefined) return;
  const keys = path.split('.');
  const last = keys.pop() as string;
  let parent = root;
  for (const key of keys) {
    parent[key] ??= {};
    parent = parent[key] as JsonMap;
  }
  parent[last] = value;
}

const isAlpha = (version: string): boolean => version.startsWith('v1alpha');

/** For the option `conversions` of the management API. Changes `object`: the caller passes a copy. */
export function convertOpenStackCluster(object: StoredObject, to: GroupVersion): StoredObject {
  const { version } = groupVersionOf(object.apiVersion);
  for (const [middle, other] of MOVES[version] ?? []) put(object, middle, take(object, other));
  if (version === 'v1beta2') put(object, FLAG[0], inverted(take(object, FLAG[1])));
  for (const [middle, other] of MOVES[to.version] ?? []) put(object, other, take(object, middle));
  if (to.version === 'v1beta2') put(object, FLAG[1], inverted(take(object, FLAG[0])));
  const spec = isMap(object.spec) ? object.spec : {};
  const { name } = isMap(spec.identityRef) ? spec.identityRef : {};
  if (isAlpha(version) && !isAlpha(to.version)) {
    spec.identityRef = { name: name ?? 'unknown', cloudName: spec.cloudName ?? 'default' };
    delete spec.cloudName;
  } else if (!isAlpha(version) && isAlpha(to.version)) {
    spec.cloudName = isMap(spec.identityRef) ? spec.identityRef.cloudName : undefined;
    spec.identityRef = { kind: 'Secret', name };
  }
  if (to.version === 'v1beta2' && isMap(spec.apiServer) && Object.keys(spec.apiServer).length === 0)
    delete spec.apiServer;
  object.apiVersion = apiVersionOf(to);
  return object;
}

const inverted = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? !value : undefined);
