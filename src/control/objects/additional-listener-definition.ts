// The CustomResourceDefinition of AdditionalListener. test/kube-api/definitions.test.ts writes deploy/crds/ from it, so the embedded API
// and real sites use the same definition.

/** The part of OpenAPI v3 that this definition uses. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message?: string }[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

export const ADDITIONAL_LISTENER = 'additionallisteners.isthmus.dev';

/** Every field has a bound: the bounds limit the estimated cost of the validation rules below to a few comparisons. */
const LABEL_KEY_LENGTH = 317;
const LABEL_VALUE_LENGTH = 63;
const MAX_LABELS = 32;
const MAX_VALUES = 64;
const MAX_CIDRS = 64;

const port = (description: string): Schema => ({
  description,
  type: 'integer',
  format: 'int32',
  minimum: 1,
  maximum: 65535,
});
const labelValue: Schema = { type: 'string', maxLength: LABEL_VALUE_LENGTH };
const labels = (description: string): Schema => ({
  description,
  type: 'object',
  maxProperties: MAX_LABELS,
  additionalProperties: labelValue,
});
const count = (description: string): Schema => ({ description, type: 'integer', format: 'int32' });

const selector: Schema = {
  description:
    "Which of the cluster's machines belong to it, by their labels. Empty: those of the control plane. Immutable.",
  type: 'object',
  default: {},
  'x-kubernetes-map-type': 'atomic',
  properties: {
    matchLabels: labels('Labels that a machine must have.'),
    matchExpressions: {
      description: 'Requirements that a machine must meet as well.',
      type: 'array',
      maxItems: MAX_LABELS,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: { description: 'Of the label.', type: 'string', minLength: 1, maxLength: LABEL_KEY_LENGTH },
          operator: {
            description: 'In, NotIn, Exists or DoesNotExist.',
            type: 'string',
            enum: ['In', 'NotIn', 'Exists', 'DoesNotExist'],
          },
          values: {
            description: 'At least one for In and NotIn, none for the others.',
            type: 'array',
            maxItems: MAX_VALUES,
            'x-kubernetes-list-type': 'atomic',
            items: labelValue,
          },
        },
      },
    },
  },
};

const spec: Schema = {
  description: 'What is wanted.',
  type: 'object',
  required: ['clusterName', 'port'],
  'x-kubernetes-validations': [
    // At this level and with a default: otherwise an edit could remove the selector and a second edit could add another one.
    { rule: 'self.selector == oldSelf.selector', message: 'Selector is immutable' },
    { rule: 'self.clusterName == oldSelf.clusterName', message: 'Cluster name is immutable' },
    { rule: 'self.port != 6443', message: "Port 6443 is that of the cluster's own Service" },
  ],
  properties: {
    clusterName: {
      description: 'Name of a cluster in this namespace. Immutable.',
      type: 'string',
      minLength: 1,
      maxLength: 63,
      pattern: '^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$',
    },
    defaultPoolName: {
      description:
        'The second half of the name of its Service, <cluster>-<pool>; the name of this object if it is not set.',
      type: 'string',
      minLength: 1,
      maxLength: 63,
      pattern: '^([a-z]|[a-z][-a-z0-9]*[a-z0-9])$',
    },
    port: port('Of its Service: where clients connect to. Not 6443.'),
    protocol: {
      description:
        'TCP: every connection is forwarded. TLS: clients name the Service in the handshake (SNI), and share the port of the clusters.',
      type: 'string',
      enum: ['TCP', 'TLS'],
      default: 'TCP',
    },
    targetPort: port('Of the machines; the same as port if it is not set.'),
    selector,
    rolloutLabels: labels(
      'Labels that a machine must have too, moved on by a rollout. Only keys of --ignored-selector-labels are accepted.',
    ),
    allowedCIDRs: {
      description: 'Where clients may come from, such as 192.0.2.0/24; empty: anywhere.',
      type: 'array',
      maxItems: MAX_CIDRS,
      'x-kubernetes-list-type': 'atomic',
      items: { type: 'string', minLength: 4, maxLength: 43, pattern: '^[0-9A-Fa-f:.]+/[0-9]{1,3}$' },
    },
  },
};

const condition: Schema = {
  type: 'object',
  required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
  properties: {
    type: { description: 'Accepted, Programmed or Ready.', type: 'string', minLength: 1, maxLength: 316 },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    lastTransitionTime: { type: 'string', format: 'date-time' },
    reason: {
      description: 'One word for programs.',
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    },
    message: { description: 'A sentence for people.', type: 'string', maxLength: 32768 },
  },
};

const status: Schema = {
  description: 'What is; written by one of the instances.',
  type: 'object',
  properties: {
    observedGeneration: {
      description: 'Of the spec that this is about.',
      type: 'integer',
      format: 'int64',
      minimum: 0,
    },
    observedBy: {
      description: 'The instance that wrote this: machines are counted as they are seen from there.',
      type: 'string',
      maxLength: 253,
    },
    serviceName: { description: 'Of its Service.', type: 'string', maxLength: 63 },
    members: count('Machines that belong to it: ready, notReady and ignored ones.'),
    ready: count('Machines that clients are sent to.'),
    notReady: count('Machines that do not answer from the instance that wrote this.'),
    ignored: count('Machines that are known in advance, or still: they match but for the ignored labels.'),
    conditions: {
      type: 'array',
      maxItems: 8,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: condition,
    },
  },
};

const column = (name: string, type: string, jsonPath: string, priority = 0) => ({
  name,
  type,
  jsonPath,
  ...(priority === 0 ? {} : { priority }),
});

export function additionalListenerDefinition() {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: ADDITIONAL_LISTENER },
    spec: {
      group: 'isthmus.dev',
      names: {
        plural: 'additionallisteners',
        singular: 'additionallistener',
        kind: 'AdditionalListener',
        listKind: 'AdditionalListenerList',
        shortNames: ['al'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            column('Cluster', 'string', '.spec.clusterName'),
            column('Protocol', 'string', '.spec.protocol'),
            column('Port', 'integer', '.spec.port'),
            column('Service', 'string', '.status.serviceName'),
            column('Accepted', 'string', '.status.conditions[?(@.type=="Accepted")].status'),
            column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status'),
            column('Members', 'integer', '.status.ready'),
            column('Ignored', 'integer', '.status.ignored'),
            column('Not ready', 'integer', '.status.notReady', 1),
            column('Reason', 'string', '.status.conditions[?(@.type=="Ready")].message', 1),
            column('Age', 'date', '.metadata.creationTimestamp'),
          ],
          schema: {
            openAPIV3Schema: {
              description:
                "A further way into a cluster's network: a Service whose clients reach some of its machines.",
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec,
                status,
              },
            },
          },
        },
      ],
    },
  };
}
