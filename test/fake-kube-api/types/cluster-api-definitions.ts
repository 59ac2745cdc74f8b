// CustomResourceDefinitions of OpenStackCluster and Machine, reduced to the required fields and those that Isthmus reads. Types,
// bounds and required fields are those of CAPO 0.9, 0.12 and main (August 2026) and Cluster API 1.11.
import type { StoredObject } from '../stored-object.ts';
import type { Schema } from './schema.ts';

export const OPENSTACK_CLUSTER_VERSIONS = ['v1alpha6', 'v1alpha7', 'v1beta1', 'v1beta2'] as const;
export type OpenStackClusterVersion = (typeof OPENSTACK_CLUSTER_VERSIONS)[number];

export const MACHINE_VERSIONS = ['v1beta1', 'v1beta2'] as const;
export type MachineVersion = (typeof MACHINE_VERSIONS)[number];

const text: Schema = { type: 'string' };
const filled: Schema = { type: 'string', minLength: 1 };
const flag: Schema = { type: 'boolean' };
const integer: Schema = { type: 'integer' };
const fields = (properties: Readonly<Record<string, Schema>>, ...required: string[]): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});

const endpoint = fields({ host: text, port: { type: 'integer', format: 'int32' } }, 'host', 'port');
const network = (name: Schema) => fields({ id: name, name }, 'id', 'name');
const loadBalancer = (name: Schema, extra: Readonly<Record<string, Schema>> = {}) =>
  fields({ id: name, name, ip: name, internalIP: name, ...extra }, 'id', 'internalIP', 'ip', 'name');
const loadBalancerSpec = (...required: string[]) =>
  fields(
    {
      enabled: { type: 'boolean', default: true },
      provider: text,
      network: fields({ id: { type: 'string', format: 'uuid' } }),
    },
    ...required,
  );
const alphaIdentity = fields({ kind: filled, name: text }, 'kind', 'name');
const betaIdentity = (name: Schema) => fields({ cloudName: name, name, region: text }, 'cloudName', 'name');

const commonSpec: Readonly<Record<string, Schema>> = {
  identityRef: alphaIdentity,
  disableAPIServerFloatingIP: flag,
  apiServerFloatingIP: text,
  apiServerFixedIP: text,
  apiServerPort: integer,
  apiServerLoadBalancer: fields({ enabled: flag, provider: text }),
  controlPlaneEndpoint: endpoint,
};
const alphaSpec = { ...commonSpec, cloudName: text };

const OPENSTACK_CLUSTER: Readonly<Record<OpenStackClusterVersion, Schema>> = {
  v1alpha6: fields({
    spec: fields(alphaSpec),
    status: fields(
      {
        ready: flag,
        network: fields({ id: text, name: text, apiServerLoadBalancer: loadBalancer(text) }, 'id', 'name'),
      },
      'ready',
    ),
  }),
  v1alpha7: fields({
    spec: fields(alphaSpec),
    status: fields(
      { ready: flag, network: network(text), apiServerLoadBalancer: loadBalancer(text) },
      'ready',
    ),
  }),
  v1beta1: fields({
    spec: fields(
      {
        ...commonSpec,
        identityRef: betaIdentity(text),
        apiServerPort: { type: 'integer', minimum: 0, maximum: 65535 },
        apiServerLoadBalancer: loadBalancerSpec('enabled'),
      },
      'identityRef',
    ),
    status: fields(
      {
        ready: { type: 'boolean', default: false },
        network: network(text),
        apiServerLoadBalancer: loadBalancer(text, { loadBalancerNetwork: network(text) }),
      },
      'ready',
    ),
  }),
  v1beta2: fields({
    spec: fields(
      {
        identityRef: betaIdentity(filled),
        apiServer: fields({
          enableFloatingIP: flag,
          floatingIP: text,
          fixedIP: text,
          port: { type: 'integer', minimum: 0, maximum: 65535 },
          managedLoadBalancer: loadBalancerSpec(),
        }),
        controlPlaneEndpoint: fields({
          host: { type: 'string', minLength: 1, maxLength: 512 },
          port: { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 },
        }),
      },
      'identityRef',
    ),
    status: fields({
      network: network(filled),
      apiServerManagedLoadBalancer: loadBalancer(filled, { loadBalancerNetwork: network(filled) }),
    }),
  }),
};

const named: Schema = { type: 'string', minLength: 1, maxLength: 253 };
const address = fields(
  {
    address: { type: 'string', minLength: 1, maxLength: 256 },
    type: {
      type: 'string',
      enum: ['Hostname', 'ExternalIP', 'InternalIP', 'ExternalDNS', 'InternalDNS'],
    },
  },
  'address',
  'type',
);

function machine(reference: Schema, nodeReference: Schema): Schema {
  return fields({
    spec: fields(
      {
        clusterName: { type: 'string', minLength: 1, maxLength: 63 },
        bootstrap: fields({ dataSecretName: { type: 'string', minLength: 0, maxLength: 253 } }),
        infrastructureRef: reference,
        providerID: { type: 'string', minLength: 1, maxLength: 512 },
        version: { type: 'string', minLength: 1, maxLength: 256 },
      },
      'bootstrap',
      'clusterName',
      'infrastructureRef',
    ),
    status: fields({
      nodeRef: nodeReference,
      addresses: { type: 'array', items: address },
      phase: {
        type: 'string',
        enum: [
          'Pending',
          'Provisioning',
          'Provisioned',
          'Running',
          'Deleting',
          'Deleted',
          'Failed',
          'Unknown',
        ],
      },
    }),
  });
}

const objectReference = fields({ apiVersion: text, kind: text, name: text, namespace: text, uid: text });
const MACHINE: Readonly<Record<MachineVersion, Schema>> = {
  v1beta1: machine(objectReference, objectReference),
  v1beta2: machine(
    fields(
      { apiGroup: named, kind: { type: 'string', minLength: 1, maxLength: 63 }, name: named },
      'apiGroup',
      'kind',
      'name',
    ),
    fields({ name: named }, 'name'),
  ),
};

export interface DefinitionChoice<Version extends string> {
  /** Default: all versions. */
  readonly served?: readonly Version[];
  /** Default: v1beta1 if it is served, else the last served version. Without a webhook, other choices lose fields. */
  readonly storage?: Version;
  /** `Webhook` only for the in-memory API, which then calls the function in its `conversions` option. */
  readonly conversion?: 'None' | 'Webhook';
}

interface Names {
  readonly group: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
}

function definition<Version extends string>(
  names: Names,
  schemas: Readonly<Record<Version, Schema>>,
  { served, storage, conversion = 'None' }: DefinitionChoice<Version>,
): StoredObject {
  const known = Object.keys(schemas) as Version[];
  const chosen = served ?? known;
  const kept = storage ?? chosen.find((version) => version === 'v1beta1') ?? chosen.at(-1);
  const { group, ...rest } = names;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.${group}` },
    spec: {
      group,
      names: { ...rest, listKind: `${names.kind}List`, categories: ['cluster-api'] },
      scope: 'Namespaced',
      conversion: { strategy: conversion },
      versions: known.map((version) => ({
        name: version,
        served: chosen.includes(version),
        storage: version === kept,
        subresources: { status: {} },
        schema: { openAPIV3Schema: schemas[version] },
      })),
    },
  };
}

export const openStackClusterDefinition = (
  choice: DefinitionChoice<OpenStackClusterVersion> = {},
): StoredObject =>
  definition(
    {
      group: 'infrastructure.cluster.x-k8s.io',
      plural: 'openstackclusters',
      singular: 'openstackcluster',
      kind: 'OpenStackCluster',
      shortNames: ['osc'],
    },
    OPENSTACK_CLUSTER,
    choice,
  );

export const machineDefinition = (choice: DefinitionChoice<MachineVersion> = {}): StoredObject =>
  definition(
    {
      group: 'cluster.x-k8s.io',
      plural: 'machines',
      singular: 'machine',
      kind: 'Machine',
      shortNames: ['ma'],
    },
    MACHINE,
    choice,
  );
