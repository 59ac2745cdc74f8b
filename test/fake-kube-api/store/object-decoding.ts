// Decodes the body of a request as an object of the requested kind and version. Built-in kinds are decoded with strict types: an
// error is a 400, as from Go. Custom kinds are validated against their schema: an error is a 422.
import { ApiError, badRequest, type FieldProblem, invalid } from '../api-error.ts';
import { apiVersionOf, copyOf, isMap, type JsonMap, type StoredObject } from '../stored-object.ts';
import type { ApiOfType } from '../types/resource-type.ts';
import { prune, type Schema, schemaProblems, setDefaults, timeProblem } from '../types/schema.ts';
import { METADATA } from './metadata.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface Decoded {
  readonly object: StoredObject;
  readonly warnings: readonly string[];
}

export function decodeObject(
  body: unknown,
  { type, api }: ApiOfType,
  fieldValidation: FieldValidation,
): Decoded {
  if (!isMap(body))
    throw badRequest(`couldn't get version/kind; json parse error: ${JSON.stringify(body)} is no object`);
  const expected = apiVersionOf(api);
  const object = copyOf(body);
  if (type.custom && (typeof object.kind !== 'string' || object.kind === ''))
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body).slice(0, 200)}'`);
  object.apiVersion ??= expected;
  object.kind ??= type.kind;
  if (object.apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${expected})`,
    );
  if (object.kind !== type.kind)
    throw badRequest(`${object.kind} in version "${api.version}" cannot be handled as a ${type.kind}`);

  const { apiVersion: _apiVersion, kind: _kind, metadata = {}, ...content } = object;
  dropNulls(metadata);
  if (!type.custom) dropNulls(content);
  const unknown = [...prune(METADATA, metadata, 'metadata'), ...prune(api.schema, content)];
  const messages = unknown.map((path) => `unknown field "${path}"`);
  if (messages.length > 0 && fieldValidation === 'Strict')
    throw badRequest(`strict decoding error: ${messages.join(', ')}`);
  refuseWrongTypes(type.kind, api.version, METADATA, metadata, 'metadata');
  if (!type.custom) refuseWrongTypes(type.kind, api.version, api.schema, content, '');
  else setDefaults(api.schema, content);

  const meta = metadata as JsonMap;
  for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const)
    if (meta[key] !== undefined && Object.keys(meta[key] as object).length === 0) delete meta[key];
  return {
    object: { apiVersion: expected, kind: type.kind, metadata: meta, ...content },
    warnings: fieldValidation === 'Warn' ? messages : [],
  };
}

/** A patch whose result cannot be decoded is invalid (422), not a bad request (400). */
export function decodePatched(
  patched: unknown,
  target: ApiOfType,
  fieldValidation: FieldValidation,
): Decoded {
  try {
    return decodeObject(patched, target, fieldValidation);
  } catch (error) {
    if (!(error instanceof ApiError) || error.message.startsWith('strict decoding error')) throw error;
    throw new ApiError(422, 'Invalid', ` "" is invalid: patch: Invalid value: ${error.message}`, {
      causes: [{ reason: 'FieldValueInvalid', message: error.message, field: 'patch' }],
    });
  }
}

export function contentProblems({ type, api }: ApiOfType, object: StoredObject): FieldProblem[] {
  if (!type.custom) return [];
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...content } = object;
  const missing = (api.schema.required ?? []).filter((key) => content[key] === undefined);
  return [
    ...missing.map(
      (path): FieldProblem => ({
        path,
        reason: 'FieldValueRequired',
        message: 'Required value',
      }),
    ),
    ...Object.entries(content).flatMap(([key, value]) => {
      const schema = api.schema.properties?.[key];
      return schema === undefined ? [] : schemaProblems(schema, value, key);
    }),
  ];
}

export function refuseProblems(type: ApiOfType['type'], name: string, problems: readonly FieldProblem[]) {
  if (problems.length > 0) throw invalid(type, name, problems);
}

function dropNulls(value: unknown): void {
  if (Array.isArray(value)) for (const each of value) dropNulls(each);
  else if (isMap(value))
    for (const [key, each] of Object.entries(value)) {
      if (each === null) delete value[key];
      else dropNulls(each);
    }
}

const GO_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'int32',
  boolean: 'bool',
  object: 'map[string]string',
  array: '[]string',
};

function refuseWrongTypes(kind: string, version: string, schema: Schema, value: unknown, path: string): void {
  const refuse = (why: string): never => {
    throw badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
  };
  const [problem] = schemaProblems(schema, value, path).filter(
    ({ reason }) => reason === 'FieldValueTypeInvalid',
  );
  if (problem !== undefined) {
    const found = /"(\w+)"/.exec(problem.message)?.[1] ?? '';
    const expected = /must be of type (\w+)/.exec(problem.message)?.[1] ?? '';
    refuse(
      `json: cannot unmarshal ${found === 'integer' ? 'number' : found} into Go struct field ${kind}.${problem.path} of type ${GO_TYPES[expected] ?? expected}`,
    );
  }
  const reason = formatProblem(schema, value);
  if (reason !== null) refuse(reason);
}

function formatProblem(schema: Schema, value: unknown): string | null {
  if (typeof value === 'string') {
    if (
      schema.format === 'byte' &&
      !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replace(/[\r\n]/g, ''))
    )
      return 'illegal base64 data at input byte 0';
    return schema.format === 'micro-time' || schema.format === 'date-time'
      ? timeProblem(schema.format, value)
      : null;
  }
  if (Array.isArray(value)) {
    for (const each of value) {
      const found = schema.items === undefined ? null : formatProblem(schema.items, each);
      if (found !== null) return found;
    }
  } else if (isMap(value))
    for (const [key, each] of Object.entries(value)) {
      const inner = schema.properties?.[key] ?? schema.additionalProperties;
      const found = typeof inner === 'object' ? formatProblem(inner, each) : null;
      if (found !== null) return found;
    }
  return null;
}
