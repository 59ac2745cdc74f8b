// The metadata that all kinds share: its schema and its rules (k8s.io/apimachinery/pkg/api/validation/objectmeta.go).
import {
  type FieldProblem,
  forbiddenField,
  immutable,
  invalidValue,
  required,
  tooLong,
} from '../api-error.ts';
import { labelValue, type NameRule, qualifiedName } from '../names.ts';
import type { ObjectMeta } from '../stored-object.ts';
import type { Schema } from '../types/schema.ts';

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'object', additionalProperties: text };
const time: Schema = { type: 'string', format: 'date-time' };

export const METADATA: Schema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    uid: text,
    selfLink: text,
    resourceVersion: text,
    generation: { type: 'integer' },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { type: 'integer' },
    labels: texts,
    annotations: texts,
    finalizers: {
      type: 'array',
      items: text,
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'uid',
    },
    managedFields: { type: 'array', items: { 'x-kubernetes-preserve-unknown-fields': true } },
  },
};

const ANNOTATIONS_LIMIT = 256 * 1024;

export function metadataProblems(meta: ObjectMeta, nameRule: NameRule): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (meta.name === undefined || meta.name === '')
    problems.push(required('metadata.name', 'name or generateName is required'));
  else for (const each of nameRule(meta.name)) problems.push(invalidValue('metadata.name', meta.name, each));
  for (const [key, value] of Object.entries(meta.labels ?? {})) {
    for (const each of qualifiedName(key)) problems.push(invalidValue('metadata.labels', key, each));
    for (const each of labelValue(value)) problems.push(invalidValue('metadata.labels', value, each));
  }
  let size = 0;
  for (const [key, value] of Object.entries(meta.annotations ?? {})) {
    for (const each of qualifiedName(key.toLowerCase()))
      problems.push(invalidValue('metadata.annotations', key, each));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_LIMIT) problems.push(tooLong('metadata.annotations', ANNOTATIONS_LIMIT));
  for (const each of meta.finalizers ?? [])
    for (const problem of qualifiedName(each))
      problems.push(invalidValue('metadata.finalizers', each, problem));
  for (const owner of meta.ownerReferences ?? [])
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const)
      if ((owner[field] ?? '') === '')
        problems.push(
          invalidValue(
            `metadata.ownerReferences.${field}`,
            owner[field] ?? '',
            field === 'apiVersion' ? 'version must not be empty' : 'must not be empty',
          ),
        );
  if ((meta.ownerReferences ?? []).filter(({ controller }) => controller === true).length > 1)
    problems.push(
      invalidValue(
        'metadata.ownerReferences',
        meta.ownerReferences,
        'Only one reference can have Controller set to true',
      ),
    );
  return problems;
}

export function metadataUpdateProblems(meta: ObjectMeta, old: ObjectMeta): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (meta.resourceVersion === undefined)
    problems.push(invalidValue('metadata.resourceVersion', '', 'must be specified for an update'));
  if (old.deletionTimestamp !== undefined) {
    const added = (meta.finalizers ?? []).filter((each) => old.finalizers?.includes(each) !== true);
    if (added.length > 0)
      problems.push(
        forbiddenField(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
        ),
      );
  }
  for (const field of ['name', 'namespace', 'uid'] as const)
    if ((meta[field] ?? '') !== (old[field] ?? ''))
      problems.push(immutable(`metadata.${field}`, meta[field] ?? ''));
  if (meta.deletionTimestamp !== old.deletionTimestamp)
    problems.push(immutable('metadata.deletionTimestamp', meta.deletionTimestamp ?? null));
  return problems;
}
