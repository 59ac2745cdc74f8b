// What the management API knows of one kind of object: where it is served, how it is read, and the rules of its writes. Built-in
// kinds and those of CustomResourceDefinitions are the same to everything else.
import type { FieldProblem } from '../api-error.ts';
import type { GroupVersion, KubeObject } from '../kube-object.ts';
import type { NameRule } from '../names.ts';
import type { Schema } from './schema.ts';

export interface ServedApi extends GroupVersion {
  readonly served: boolean;
  readonly hasStatus: boolean;
  /** Of everything but apiVersion, kind and metadata. */
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
  /** Best first, as discovery lists them. */
  readonly apis: readonly ServedApi[];
  /** What is written is kept in this one. */
  readonly storage: ServedApi;
  readonly nameRule: NameRule;
  readonly selectableFields: readonly string[];
  readonly hasGeneration: boolean;
  /** EndpointSlices count a change of labels as one of content. */
  readonly labelsAreContent: boolean;
  readonly createOnUpdate: boolean;
  readonly unconditionalUpdate: boolean;
  readonly returnsDeleted: boolean;
  convert(object: KubeObject, to: GroupVersion): KubeObject;
  /** Sets defaults and what only the server may set. Changes `object`. */
  prepare(object: KubeObject, old: KubeObject | null): void;
  /** `by` is the version of the request: events are judged differently by each. */
  problems(object: KubeObject, old: KubeObject | null, by: GroupVersion): FieldProblem[];
}

/** The API through which a request came: one kind in one version. */
export interface ApiOfType {
  readonly type: ResourceType;
  readonly api: ServedApi;
}
