// The fields of the built-in kinds that the management API serves. Other fields are dropped, as in Go's decoder. Complete for
// Service, EndpointSlice, Lease, Secret, Event and Namespace. A Node keeps all fields.
import type { Schema } from './schema.ts';

type Fields = Readonly<Record<string, Schema>>;

const text: Schema = { type: 'string' };
const integer: Schema = { type: 'integer' };
const flag: Schema = { type: 'boolean' };
const time: Schema = { type: 'string', format: 'date-time' };
const microTime: Schema = { type: 'string', format: 'micro-time' };
const bytes: Schema = { type: 'string', format: 'byte' };
const intOrText: Schema = { 'x-kubernetes-int-or-string': true };
const anything: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
const fields = (properties: Fields): Schema => ({ type: 'object', properties });
const mapOf = (additionalProperties: Schema): Schema => ({ type: 'object', additionalProperties });
const listOf = (items: Schema): Schema => ({ type: 'array', items, 'x-kubernetes-list-type': 'atomic' });

/** A list whose elements have separate owners. `keys` identifies them in an apply, `mergeKey` in a strategic patch. */
const keyedList = (keys: readonly string[], mergeKey: string, items: Schema): Schema => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
  'x-kubernetes-patch-strategy': 'merge',
  'x-kubernetes-patch-merge-key': mergeKey,
});

const conditions = keyedList(
  ['type'],
  'type',
  fields({
    type: text,
    status: text,
    observedGeneration: integer,
    lastTransitionTime: time,
    lastProbeTime: time,
    reason: text,
    message: text,
  }),
);

export const NAMESPACE: Schema = fields({
  spec: fields({ finalizers: listOf(text) }),
  status: fields({ phase: text, conditions }),
});

export const NODE: Schema = fields({ spec: anything, status: anything });

export const SERVICE: Schema = fields({
  spec: fields({
    ports: keyedList(
      ['port', 'protocol'],
      'port',
      fields({
        name: text,
        protocol: text,
        appProtocol: text,
        port: integer,
        targetPort: intOrText,
        nodePort: integer,
      }),
    ),
    selector: mapOf(text),
    clusterIP: text,
    clusterIPs: listOf(text),
    type: text,
    externalIPs: listOf(text),
    sessionAffinity: text,
    loadBalancerIP: text,
    loadBalancerSourceRanges: listOf(text),
    externalName: text,
    externalTrafficPolicy: text,
    healthCheckNodePort: integer,
    publishNotReadyAddresses: flag,
    sessionAffinityConfig: anything,
    ipFamilies: listOf(text),
    ipFamilyPolicy: text,
    allocateLoadBalancerNodePorts: flag,
    loadBalancerClass: text,
    internalTrafficPolicy: text,
    trafficDistribution: text,
  }),
  status: fields({ loadBalancer: anything, conditions }),
});

export const SECRET: Schema = fields({
  type: text,
  immutable: flag,
  data: mapOf(bytes),
  stringData: mapOf(text),
});

const reference = fields({
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  apiVersion: text,
  resourceVersion: text,
  fieldPath: text,
});

export const ENDPOINT_SLICE: Schema = fields({
  addressType: text,
  endpoints: listOf(
    fields({
      addresses: listOf(text),
      conditions: fields({ ready: flag, serving: flag, terminating: flag }),
      hostname: text,
      targetRef: reference,
      deprecatedTopology: mapOf(text),
      nodeName: text,
      zone: text,
      hints: anything,
    }),
  ),
  ports: listOf(fields({ name: text, protocol: text, port: integer, appProtocol: text })),
});

export const LEASE: Schema = fields({
  spec: fields({
    holderIdentity: text,
    leaseDurationSeconds: integer,
    acquireTime: microTime,
    renewTime: microTime,
    leaseTransitions: integer,
    strategy: text,
    preferredHolder: text,
  }),
});

const source = fields({ component: text, host: text });
const series = fields({ count: integer, lastObservedTime: microTime });
const bothEvents: Fields = {
  eventTime: microTime,
  series,
  action: text,
  reason: text,
  type: text,
  related: reference,
  reportingInstance: text,
};

export const CORE_EVENT: Schema = fields({
  ...bothEvents,
  involvedObject: reference,
  message: text,
  source,
  firstTimestamp: time,
  lastTimestamp: time,
  count: integer,
  reportingComponent: text,
});

export const EVENT: Schema = fields({
  ...bothEvents,
  regarding: reference,
  note: text,
  reportingController: text,
  deprecatedSource: source,
  deprecatedFirstTimestamp: time,
  deprecatedLastTimestamp: time,
  deprecatedCount: integer,
});

export const CUSTOM_RESOURCE_DEFINITION: Schema = fields({ spec: anything, status: anything });
