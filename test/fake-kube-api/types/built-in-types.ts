// The table of built-in kinds, one row for each. The rules are in built-in-rules.ts, the schemas in built-in-schemas.ts.

import { dns1035Label, dns1123Label, dns1123Subdomain } from '../names.ts';
import { apiVersionOf, type GroupVersion, type JsonMap, type StoredObject } from '../stored-object.ts';
import {
  EVENT_FIELDS,
  endpointSliceProblems,
  eventProblems,
  leaseProblems,
  prepareEndpointSlice,
  prepareSecret,
  prepareService,
  ServiceAddresses,
  secretProblems,
  serviceProblems,
} from './built-in-rules.ts';
import * as schemas from './built-in-schemas.ts';
import type { ResourceType, ServedApi } from './resource-type.ts';

type Row = Pick<ResourceType, 'plural' | 'singular' | 'kind'> &
  Partial<Omit<ResourceType, 'plural' | 'singular' | 'kind' | 'apis'>> & {
    readonly apis: readonly [ServedApi, ...ServedApi[]];
  };

const api = (group: string, version: string, schema: ServedApi['schema'], hasStatus = false): ServedApi => ({
  group,
  version,
  schema,
  hasStatus,
  served: true,
});

function builtIn(row: Row): ResourceType {
  const [storage] = row.apis;
  const { group } = storage;
  return {
    key: group === '' ? row.plural : `${row.plural}.${group}`,
    group,
    shortNames: [],
    namespaced: true,
    custom: false,
    storage,
    nameRule: dns1123Subdomain,
    selectableFields: [],
    hasGeneration: false,
    labelsAreContent: false,
    createOnUpdate: false,
    unconditionalUpdate: true,
    returnsDeleted: false,
    convert: (object) => object,
    prepare: () => {},
    problems: () => [],
    ...row,
  };
}

/** Converts an event between its two groups. */
function convertEvent(object: StoredObject, to: GroupVersion): StoredObject {
  const apiVersion = apiVersionOf(to);
  if (object.apiVersion === apiVersion) return object;
  const names = new Map(
    EVENT_FIELDS.map(([core, events]) => (to.group === '' ? [events, core] : [core, events])),
  );
  const renamed = Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]);
  return { ...(Object.fromEntries(renamed) as StoredObject), apiVersion };
}

/** `addresses` is the only state that kinds share outside the store. */
export function builtInTypes(addresses = new ServiceAddresses()): ResourceType[] {
  return [
    builtIn({
      plural: 'namespaces',
      singular: 'namespace',
      kind: 'Namespace',
      shortNames: ['ns'],
      namespaced: false,
      apis: [api('', 'v1', schemas.NAMESPACE, true)],
      nameRule: dns1123Label,
      selectableFields: ['status.phase'],
      returnsDeleted: true,
      prepare(object, old) {
        object.metadata.labels = {
          ...object.metadata.labels,
          'kubernetes.io/metadata.name': object.metadata.name ?? '',
        };
        object.spec = old?.spec ?? { finalizers: ['kubernetes'] };
        object.status ??= { phase: 'Active' };
      },
    }),
    builtIn({
      plural: 'nodes',
      singular: 'node',
      kind: 'Node',
      shortNames: ['no'],
      namespaced: false,
      apis: [api('', 'v1', schemas.NODE, true)],
      selectableFields: ['spec.unschedulable'],
    }),
    builtIn({
      plural: 'services',
      singular: 'service',
      kind: 'Service',
      shortNames: ['svc'],
      apis: [api('', 'v1', schemas.SERVICE, true)],
      nameRule: dns1035Label,
      selectableFields: ['spec.clusterIP', 'spec.type'],
      createOnUpdate: true,
      returnsDeleted: true,
      prepare: (object, old) => prepareService(object, old, addresses),
      problems: serviceProblems,
    }),
    builtIn({
      plural: 'secrets',
      singular: 'secret',
      kind: 'Secret',
      apis: [api('', 'v1', schemas.SECRET)],
      selectableFields: ['type'],
      prepare: prepareSecret,
      problems: secretProblems,
    }),
    builtIn({
      plural: 'events',
      singular: 'event',
      kind: 'Event',
      shortNames: ['ev'],
      apis: [api('', 'v1', schemas.CORE_EVENT), api('events.k8s.io', 'v1', schemas.EVENT)],
      selectableFields: [
        ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
          (field) => `involvedObject.${field}`,
        ),
        'reason',
        'reportingComponent',
        'source',
        'type',
      ],
      createOnUpdate: true,
      convert: convertEvent,
      problems: eventProblems,
    }),
    builtIn({
      plural: 'endpointslices',
      singular: 'endpointslice',
      kind: 'EndpointSlice',
      apis: [api('discovery.k8s.io', 'v1', schemas.ENDPOINT_SLICE)],
      hasGeneration: true,
      labelsAreContent: true,
      prepare: prepareEndpointSlice,
      problems: endpointSliceProblems,
    }),
    builtIn({
      plural: 'leases',
      singular: 'lease',
      kind: 'Lease',
      apis: [api('coordination.k8s.io', 'v1', schemas.LEASE)],
      createOnUpdate: true,
      unconditionalUpdate: false,
      problems: leaseProblems,
    }),
    builtIn({
      plural: 'customresourcedefinitions',
      singular: 'customresourcedefinition',
      kind: 'CustomResourceDefinition',
      shortNames: ['crd', 'crds'],
      namespaced: false,
      apis: [api('apiextensions.k8s.io', 'v1', schemas.CUSTOM_RESOURCE_DEFINITION, true)],
      hasGeneration: true,
      unconditionalUpdate: false,
      prepare(object) {
        const spec = (object.spec ?? {}) as JsonMap;
        object.spec = { ...spec, conversion: spec.conversion ?? { strategy: 'None' } };
      },
    }),
  ];
}
