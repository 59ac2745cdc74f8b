// The needed part of OpenAPI v3 for CustomResourceDefinitions: pruning, defaults, types, bounds. Built-in kinds use the same schema
// language. anyOf, oneOf and not are not enforced. Of CEL, only the rules of our own definition are enforced (written-rules.ts).
import { type FieldProblem, invalidValue, notSupported, required } from '../api-error.ts';
import { copyOf, equalJson, isMap } from '../stored-object.ts';

export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
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
  readonly nullable?: boolean;
  readonly description?: string;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message?: string }[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Drops fields that are not in the schema and returns their paths. Changes `value`. */
export function prune(schema: Schema, value: unknown, path = ''): string[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.flatMap((each, index) => prune(items, each, `${path}[${index}]`));
  }
  if (!isMap(value)) return [];
  const unknown: string[] = [];
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(schema.properties ?? {}, key) ? schema.properties?.[key] : undefined;
    const inner =
      property ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    if (inner !== undefined) unknown.push(...prune(inner, value[key], below(path, key)));
    else if (
      schema['x-kubernetes-preserve-unknown-fields'] !== true &&
      schema.additionalProperties === undefined
    ) {
      delete value[key];
      unknown.push(below(path, key));
    }
  }
  return unknown;
}

/** Sets the defaults of absent fields at every depth. Changes `value`. */
export function setDefaults(schema: Schema, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const each of value) setDefaults(schema.items, each);
    return;
  }
  if (!isMap(value)) return;
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    if (value[key] === null && property.nullable !== true && property.default !== undefined)
      delete value[key];
    if (value[key] === undefined && property.default !== undefined) value[key] = copyOf(property.default);
    if (value[key] !== undefined) setDefaults(property, value[key]);
  }
  if (typeof schema.additionalProperties === 'object')
    for (const each of Object.values(value)) setDefaults(schema.additionalProperties, each);
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function hasType(schema: Schema, value: unknown): boolean {
  const found = typeOf(value);
  if (schema['x-kubernetes-int-or-string'] === true) return found === 'integer' || found === 'string';
  if (schema.type === undefined || schema.type === '') return true;
  if (schema.type === 'number') return found === 'integer' || found === 'number';
  return found === schema.type;
}

/** RFC 3339 as in Go. A MicroTime has exactly six fractional digits (metav1.RFC3339Micro), a Time any number. */
export function timeProblem(format: string, text: string): string | null {
  const layout = format === 'micro-time' ? '2006-01-02T15:04:05.000000Z07:00' : '2006-01-02T15:04:05Z07:00';
  const match = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(text);
  const digits = (match?.[1]?.length ?? 1) - 1;
  if (match === null || Number.isNaN(Date.parse(text)) || (format === 'micro-time' && digits !== 6))
    return `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse it`;
  return null;
}

/** The problems of `value`, with the messages of the API server's validation of custom resources. */
export function schemaProblems(schema: Schema, value: unknown, path: string): FieldProblem[] {
  if (value === null && schema.nullable === true) return [];
  if (!hasType(schema, value)) {
    const expected = schema['x-kubernetes-int-or-string'] === true ? 'integer or string' : schema.type;
    const found = JSON.stringify(typeOf(value));
    return [
      {
        path,
        reason: 'FieldValueTypeInvalid',
        message: `Invalid value: ${found}: ${path} in body must be of type ${expected}: ${found}`,
      },
    ];
  }
  const problems: FieldProblem[] = [];
  const refuse = (detail: string) => problems.push(invalidValue(path, value, `${path} in body ${detail}`));
  if (schema.enum !== undefined && !schema.enum.some((each) => equalJson(each, value)))
    problems.push(notSupported(path, value, schema.enum.map(String)));
  if (typeof value === 'string') textProblems(schema, value, refuse);
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum)
      refuse(`should be greater than or equal to ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum)
      refuse(`should be less than or equal to ${schema.maximum}`);
  }
  if (Array.isArray(value)) {
    if (schema.minItems !== undefined && value.length < schema.minItems)
      refuse(`should have at least ${schema.minItems} items`);
    if (schema.maxItems !== undefined && value.length > schema.maxItems)
      refuse(`should have at most ${schema.maxItems} items`);
    const { items } = schema;
    if (items !== undefined)
      value.forEach((each, index) => {
        problems.push(...schemaProblems(items, each, `${path}[${index}]`));
      });
  }
  if (isMap(value)) {
    if (schema.maxProperties !== undefined && Object.keys(value).length > schema.maxProperties)
      refuse(`should have at most ${schema.maxProperties} properties`);
    for (const key of schema.required ?? [])
      if (value[key] === undefined) problems.push(required(below(path, key)));
    for (const [key, each] of Object.entries(value)) {
      const inner = Object.hasOwn(schema.properties ?? {}, key)
        ? schema.properties?.[key]
        : schema.additionalProperties;
      if (typeof inner === 'object') problems.push(...schemaProblems(inner, each, below(path, key)));
    }
  }
  return problems;
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

function textProblems(schema: Schema, value: string, refuse: (detail: string) => void): void {
  const length = [...value].length;
  if (schema.minLength !== undefined && length < schema.minLength)
    refuse(`should be at least ${schema.minLength} chars long`);
  if (schema.maxLength !== undefined && length > schema.maxLength)
    refuse(`should be at most ${schema.maxLength} chars long`);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
    refuse(`should match '${schema.pattern}'`);
  if (schema.format === 'uuid' && !UUID.test(value)) refuse(`must be of type uuid: ${JSON.stringify(value)}`);
  if (schema.format === 'date-time' && timeProblem('date-time', value) !== null)
    refuse('must be of type date-time');
}
