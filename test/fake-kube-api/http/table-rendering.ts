// Renders lists for `kubectl get` (Accept: as=Table): a few columns for each kind, so that the demo is readable.

import type { Entry } from '../store/object-store.ts';
import { isMap, type JsonMap } from '../stored-object.ts';
import type { ApiOfType, ResourceType } from '../types/resource-type.ts';

type Column = readonly [name: string, cell: (object: JsonMap) => unknown];

function at(object: unknown, path: string): unknown {
  let found = object;
  for (const key of path.split('.')) found = isMap(found) ? found[key] : undefined;
  return found;
}

const list = (value: unknown): JsonMap[] => (Array.isArray(value) ? (value as JsonMap[]) : []);
const joined = (texts: readonly unknown[]): string => (texts.length === 0 ? '<none>' : texts.join(','));

const conditionOf = (object: JsonMap, type: string): unknown =>
  list(at(object, 'status.conditions')).find((each) => each.type === type)?.status;

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  namespaces: [['Status', (each) => at(each, 'status.phase')]],
  services: [
    ['Type', (each) => at(each, 'spec.type')],
    ['Cluster-IP', (each) => at(each, 'spec.clusterIP') ?? '<none>'],
    ['External-IP', () => '<none>'],
    [
      'Port(s)',
      (each) => joined(list(at(each, 'spec.ports')).map(({ port, protocol }) => `${port}/${protocol}`)),
    ],
  ],
  secrets: [
    ['Type', (each) => each.type],
    ['Data', (each) => Object.keys(isMap(each.data) ? each.data : {}).length],
  ],
  events: [
    ['Type', (each) => each.type],
    ['Reason', (each) => each.reason],
    ['Object', (each) => `${at(each, 'involvedObject.kind')}/${at(each, 'involvedObject.name')}`],
    ['Message', (each) => each.message ?? each.note],
  ],
  endpointslices: [
    ['AddressType', (each) => each.addressType],
    ['Ports', (each) => joined(list(each.ports).map(({ port }) => port))],
    ['Endpoints', (each) => joined(list(each.endpoints).flatMap(({ addresses }) => addresses as string[]))],
    [
      'Ready',
      (each) => joined(list(each.endpoints).map(({ conditions }) => at(conditions, 'ready') ?? true)),
    ],
  ],
  leases: [
    ['Holder', (each) => at(each, 'spec.holderIdentity') ?? ''],
    ['Renewed', (each) => at(each, 'spec.renewTime') ?? ''],
  ],
  additionallisteners: [
    ['Cluster', (each) => at(each, 'spec.clusterName')],
    ['Protocol', (each) => at(each, 'spec.protocol')],
    ['Port', (each) => at(each, 'spec.port')],
    ['Service', (each) => at(each, 'status.serviceName')],
    ['Accepted', (each) => conditionOf(each, 'Accepted')],
    ['Ready', (each) => conditionOf(each, 'Ready')],
    ['Members', (each) => at(each, 'status.ready')],
    ['Ignored', (each) => at(each, 'status.ignored')],
  ],
  openstackclusters: [
    [
      'Cluster',
      (each) =>
        at(each, 'metadata.labels') &&
        (at(each, 'metadata.labels') as JsonMap)['cluster.x-k8s.io/cluster-name'],
    ],
    ['Endpoint', (each) => at(each, 'spec.controlPlaneEndpoint.host') ?? ''],
    ['Network', (each) => at(each, 'status.network.id') ?? ''],
  ],
};

const columnsOf = ({ plural }: ResourceType): readonly Column[] => COLUMNS[plural] ?? [];

export function tableOf({ type, api }: ApiOfType, entries: readonly Entry[], metadata: object): object {
  const columns = columnsOf(type);
  const names = ['Name', ...columns.map(([name]) => name), 'Created At'];
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: names.map((name) => ({
      name: name === 'Created At' ? 'Age' : name,
      type: name === 'Created At' ? 'date' : 'string',
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: 0,
    })),
    rows: entries.map((entry) => {
      const object = type.convert(entry.object, api);
      return {
        cells: [
          entry.name,
          ...columns.map(([, cell]) => String(cell(object) ?? '')),
          age(entry.object.metadata.creationTimestamp),
        ],
        object: {
          kind: 'PartialObjectMetadata',
          apiVersion: 'meta.k8s.io/v1',
          metadata: entry.object.metadata,
        },
      };
    }),
  };
}

function age(created: string | undefined): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(created ?? '')) / 1000));
  if (Number.isNaN(seconds)) return '<unknown>';
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}
