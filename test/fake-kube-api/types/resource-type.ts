// Describes one kind of object in the management API: its paths, schemas and write rules. All other code treats built-in kinds and
// kinds of CustomResourceDefinitions in the same way.
import type { FieldProblem } from '../api-error.ts';
import type { NameRule } from '../names.ts';
import type { GroupVersion, StoredObject } from '../stored-object.ts';
import type { Schema } from './schema.ts';

export interface ServedApi extends GroupVersion {
  readonly served: boolean;
  readonly hasStatus: boolean;
  /** The schema of all fields except apiVersion, kind and metadata. */
  readonly schema: Schema;
}

export interface ResourceType {
  /** `plural` or `plural.group`: the name of its table in the store. */
  readonly key: string;
  readonly group: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  readonly custom: boolean;
  /** Preferred version first, as in discovery. */
  readonly apis: readonly ServedApi[];
  /** The version in which objects are stored. */
  readonly storage: ServedApi;
  readonly nameRule: NameRule;
  readonly selectableFields: readonly string[];
  readonly hasGeneration: boolean;
  /** True for EndpointSlices: a change of labels increases the generation, as a change of content does. */
  readonly labelsAreContent: boolean;
  readonly createOnUpdate: boolean;
  readonly unconditionalUpdate: boolean;
  readonly returnsDeleted: boolean;
  convert(object: StoredObject, to: GroupVersion): StoredObject;
  /** Sets defaults and the fields that only the server sets. Changes `object`. */
  prepare(object: StoredObject, old: StoredObject | null): void;
  /** `by` is the version of the request: each version validates events differently. */
  problems(object: StoredObject, old: StoredObject | null, by: GroupVersion): FieldProblem[];
}

/** The API of a request: one kind in one version. */
export interface ApiOfType {
  readonly type: ResourceType;
  readonly api: ServedApi;
}
