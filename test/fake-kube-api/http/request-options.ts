// The options of writes and deletions, from the query and, for deletions, the body.
import type { IncomingMessage } from 'node:http';
import { badRequest } from '../api-error.ts';
import type { FieldValidation } from '../store/object-decoding.ts';
import type { DeleteOptions, WriteOptions } from '../store/object-writes.ts';
import { isMap } from '../stored-object.ts';

export function writeOptions(query: URLSearchParams, request: IncomingMessage): WriteOptions {
  const fieldValidation = query.get('fieldValidation') ?? 'Warn';
  if (!['Strict', 'Warn', 'Ignore'].includes(fieldValidation))
    throw badRequest(`fieldValidation: Unsupported value: ${JSON.stringify(fieldValidation)}`);
  const agent = (request.headers['user-agent'] ?? '').split('/', 1)[0] ?? '';
  return {
    manager: query.get('fieldManager') ?? (agent === '' ? 'unknown' : agent),
    dryRun: query.get('dryRun') === 'All',
    fieldValidation: fieldValidation as FieldValidation,
  };
}

export function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = isMap(body) ? body : {};
  const preconditions = isMap(given.preconditions) ? given.preconditions : {};
  const policy = given.propagationPolicy ?? query.get('propagationPolicy');
  return {
    ...(typeof preconditions.uid === 'string' ? { uid: preconditions.uid } : {}),
    ...(typeof preconditions.resourceVersion === 'string'
      ? { resourceVersion: preconditions.resourceVersion }
      : {}),
    ...(typeof policy === 'string' ? { propagationPolicy: policy } : {}),
    dryRun: query.get('dryRun') === 'All' || (Array.isArray(given.dryRun) && given.dryRun.includes('All')),
  };
}
