// The page of the fields of AdditionalListener.
import { additionalListenerDefinition } from '../../test/fake-kube-api/types/additional-listener-definition.ts';
import type { Schema } from '../../test/fake-kube-api/types/schema.ts';
import { code, page, type ReferencePage, table } from './page.ts';

interface Field {
  readonly path: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

/** The schema and all schemas below it, each with the path that kubectl uses; `[]` is an item of a list, `.*` a value of a map. */
function fieldsOf(field: Field): Field[] {
  const { path, schema } = field;
  const { properties = {}, required = [], items, additionalProperties } = schema;
  const below = Object.entries(properties).flatMap(([name, each]) =>
    fieldsOf({ path: `${path}.${name}`, isRequired: required.includes(name), schema: each }),
  );
  const parts = { '[]': items, '.*': additionalProperties };
  const elements = Object.entries(parts).flatMap(([suffix, each]) =>
    typeof each === 'object' ? fieldsOf({ path: `${path}${suffix}`, isRequired: false, schema: each }) : [],
  );
  return [field, ...below, ...elements];
}

const range = (unit: string, min: number | undefined, max: number | undefined): string[] => {
  if (min === undefined && max === undefined) return [];
  if (max === undefined) return [`at least ${min}${unit}`];
  return [min === undefined ? `at most ${max}${unit}` : `${min} to ${max}${unit}`];
};

function validation(schema: Schema): string {
  return [
    ...(schema.enum === undefined
      ? []
      : [`one of ${schema.enum.map((each) => code(String(each))).join(', ')}`]),
    ...range('', schema.minimum, schema.maximum),
    ...range(' characters', schema.minLength, schema.maxLength),
    ...range(' items', schema.minItems, schema.maxItems),
    ...range(' entries', undefined, schema.maxProperties),
    ...(schema.pattern === undefined ? [] : [code(schema.pattern)]),
    ...(schema['x-kubernetes-validations'] ?? []).map(
      ({ rule, message }) => `${code(rule)} (${message ?? ''})`,
    ),
  ].join('; ');
}

const typeOf = ({ type = '', format }: Schema): string =>
  format === undefined ? type : `${type} (${format})`;

const row = ({ path, isRequired, schema }: Field): string[] => [
  code(path),
  typeOf(schema),
  isRequired ? 'yes' : '',
  schema.default === undefined ? '' : code(JSON.stringify(schema.default)),
  validation(schema),
  schema.description ?? '',
];

export function additionalListener(): ReferencePage {
  const { group, names, scope, versions } = additionalListenerDefinition().spec;
  const blocks = versions.flatMap(({ name, schema, additionalPrinterColumns }) => {
    const { description, required = [], properties = {} } = schema.openAPIV3Schema;
    const section = (part: 'spec' | 'status') => [
      `## ${part}`,
      table(
        ['field', 'type', 'required', 'default', 'validation', 'description'],
        fieldsOf({ path: part, isRequired: required.includes(part), schema: properties[part]! }).map(row),
      ),
    ];
    return [
      `\`${group}/${name}\`, kind \`${names.kind}\`, short name \`${names.shortNames.join(', ')}\`, scope ${scope}. ${description} ` +
        '[How to use it](../how-to/listeners.md).',
      ...section('spec'),
      ...section('status'),
      '## Columns of kubectl get',
      table(
        ['column', 'value', 'shown'],
        additionalPrinterColumns.map(({ name: column, jsonPath, priority }) => [
          column,
          code(jsonPath),
          priority === undefined ? 'always' : 'with `-o wide`',
        ]),
      ),
    ];
  });
  return page({
    name: 'additional-listener',
    title: 'AdditionalListener',
    sources: ['deploy/crds/additionallisteners.isthmus.dev.yaml'],
    blocks,
  });
}
