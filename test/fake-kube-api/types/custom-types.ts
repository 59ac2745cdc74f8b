// Creates a resource type from a CustomResourceDefinition: its versions, schemas, and the conversion between them.
import { type FieldProblem, invalidValue, required } from '../api-error.ts';
import { dns1123Subdomain } from '../names.ts';
import {
  apiVersionOf,
  copyOf,
  type GroupVersion,
  isMap,
  type JsonMap,
  type StoredObject,
} from '../stored-object.ts';
import type { ResourceType, ServedApi } from './resource-type.ts';
import { prune, type Schema, setDefaults } from './schema.ts';
import { ruleProblems } from './written-rules.ts';

/** Replaces a conversion webhook: returns the object in another version, or throws when the webhook is down. */
export type Conversion = (object: StoredObject, to: GroupVersion) => StoredObject;

interface Definition {
  readonly group: string;
  readonly names: {
    readonly plural: string;
    readonly singular?: string;
    readonly kind: string;
    readonly shortNames?: readonly string[];
  };
  readonly scope: string;
  readonly versions: readonly {
    readonly name: string;
    readonly served: boolean;
    readonly storage: boolean;
    readonly schema?: { readonly openAPIV3Schema?: Schema };
    readonly subresources?: { readonly status?: unknown };
  }[];
  readonly conversion?: { readonly strategy?: string };
}

export function definitionProblems(crd: StoredObject): FieldProblem[] {
  const spec = (crd.spec ?? {}) as Partial<Definition>;
  const problems: FieldProblem[] = [];
  for (const field of ['group', 'scope'] as const)
    if (spec[field] === undefined || spec[field] === '') problems.push(required(`spec.${field}`));
  for (const field of ['plural', 'kind'] as const)
    if ((spec.names?.[field] ?? '') === '') problems.push(required(`spec.names.${field}`));
  const name = `${spec.names?.plural}.${spec.group}`;
  if (crd.metadata.name !== name)
    problems.push(
      invalidValue('metadata.name', crd.metadata.name, 'must be spec.names.plural+"."+spec.group'),
    );
  const versions = spec.versions ?? [];
  if (versions.filter(({ storage }) => storage).length !== 1)
    problems.push(
      invalidValue('spec.versions', versions, 'must have exactly one version marked as storage version'),
    );
  versions.forEach(({ schema }, index) => {
    if (schema?.openAPIV3Schema === undefined)
      problems.push(required(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required'));
  });
  return problems;
}

/** The preference order of discovery: `v2 > v1 > v1beta2 > v1beta1 > v1alpha7`. */
export function compareVersions(left: string, right: string): number {
  const rank = (version: string): readonly number[] | null => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return null;
    const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [a, b] = [rank(left), rank(right)];
  if (a === null || b === null) return a === b ? (left < right ? -1 : 1) : a === null ? 1 : -1;
  const different = a.findIndex((each, index) => each !== b[index]);
  return different < 0 ? 0 : (b[different] as number) - (a[different] as number);
}

export function customType(crd: StoredObject, conversion: Conversion | undefined): ResourceType {
  const spec = crd.spec as unknown as Definition;
  const apis = spec.versions
    .map(
      (version): ServedApi => ({
        group: spec.group,
        version: version.name,
        served: version.served,
        hasStatus: version.subresources?.status !== undefined,
        schema: contentSchema(version.schema?.openAPIV3Schema ?? {}),
      }),
    )
    .sort((left, right) => compareVersions(left.version, right.version));
  const storageName = spec.versions.find(({ storage }) => storage)?.name;
  const storage = apis.find(({ version }) => version === storageName) ?? (apis[0] as ServedApi);
  const byWebhook = spec.conversion?.strategy === 'Webhook' ? conversion : undefined;
  return {
    key: `${spec.names.plural}.${spec.group}`,
    group: spec.group,
    plural: spec.names.plural,
    singular: spec.names.singular ?? spec.names.kind.toLowerCase(),
    kind: spec.names.kind,
    shortNames: spec.names.shortNames ?? [],
    namespaced: spec.scope === 'Namespaced',
    custom: true,
    apis,
    storage,
    nameRule: dns1123Subdomain,
    selectableFields: [],
    hasGeneration: true,
    labelsAreContent: false,
    createOnUpdate: false,
    unconditionalUpdate: false,
    returnsDeleted: false,
    convert: (object, to) => converted(object, to, apis, byWebhook),
    prepare: () => {},
    problems: (object, old) => ruleProblems(storage.schema, object, old),
  };
}

/** Without a webhook only the version name changes, and fields that the other version does not have are lost. */
function converted(
  object: StoredObject,
  to: GroupVersion,
  apis: readonly ServedApi[],
  byWebhook: Conversion | undefined,
): StoredObject {
  const apiVersion = apiVersionOf(to);
  if (object.apiVersion === apiVersion) return object;
  const result = byWebhook === undefined ? { ...copyOf(object), apiVersion } : byWebhook(copyOf(object), to);
  const schema = apis.find(({ version }) => version === to.version)?.schema;
  if (schema === undefined) return result;
  const { apiVersion: _apiVersion, kind, metadata, ...content } = result;
  prune(schema, content);
  setDefaults(schema, content);
  return { apiVersion, kind, metadata, ...content };
}

function contentSchema(schema: Schema): Schema {
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    metadata: _metadata,
    ...properties
  } = schema.properties ?? {};
  return { ...schema, properties };
}

/** The status that the API server's own controllers write after a definition is accepted. */
export function establishedStatus(crd: StoredObject, now: string): JsonMap {
  const spec = crd.spec as unknown as Definition;
  const before = isMap(crd.status) ? crd.status : {};
  const stored = new Set(Array.isArray(before.storedVersions) ? (before.storedVersions as string[]) : []);
  for (const { name, storage } of spec.versions) if (storage) stored.add(name);
  const condition = (type: string, reason: string, message: string) => ({
    type,
    status: 'True',
    lastTransitionTime: now,
    reason,
    message,
  });
  return {
    conditions: Array.isArray(before.conditions)
      ? before.conditions
      : [
          condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
          condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
        ],
    acceptedNames: copyOf(spec.names),
    storedVersions: [...stored],
  };
}
