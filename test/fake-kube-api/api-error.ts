// All errors of the management API, with the messages and codes of the real one (k8s.io/apimachinery/pkg/api/errors): clients
// branch on `reason` and `code`, people read `message`.

export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Record<string, unknown>;
  readonly status: 'Failure' | 'Success';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

export class ApiError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.name = 'ApiError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code,
    };
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** The resource for the messages, such as `endpointslices.discovery.k8s.io`. */
export interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const qualified = ({ group }: Named, name: string): string => (group === '' ? name : `${name}.${group}`);

const detailsOf = (of: Named, name: string, extra: StatusDetails = {}): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(of.group === '' ? {} : { group: of.group }),
  kind: of.plural,
  ...extra,
});

export const notFound = (of: Named, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${qualified(of, of.plural)} "${name}" not found`, detailsOf(of, name));

export const alreadyExists = (of: Named, name: string): ApiError =>
  new ApiError(
    409,
    'AlreadyExists',
    `${qualified(of, of.plural)} "${name}" already exists`,
    detailsOf(of, name),
  );

export const conflict = (of: Named, name: string, why: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(of, of.plural)} "${name}": ${why}`,
    detailsOf(of, name),
  );

export const modified = (of: Named, name: string): ApiError =>
  conflict(
    of,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );

export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

export const forbidden = (
  of: Named,
  name: string,
  why: string,
  causes: readonly StatusCause[] = [],
): ApiError =>
  new ApiError(
    403,
    'Forbidden',
    `${qualified(of, of.plural)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`,
    detailsOf(of, name, causes.length === 0 ? {} : { causes }),
  );

export const expired = (message: string): ApiError => new ApiError(410, 'Expired', message);

export const tooLargeResourceVersion = (asked: number, current: number): ApiError =>
  new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );

export const noSuchResource = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

/** One field that validation rejected. `reason` and the message are those of `field.Error`. */
export interface FieldProblem {
  readonly path: string;
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueTypeInvalid';
  readonly message: string;
}

const shown = (value: unknown): string => (value === undefined ? 'null' : JSON.stringify(value));

export const invalidValue = (path: string, value: unknown, detail: string): FieldProblem => ({
  path,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${shown(value)}: ${detail}`,
});

export const required = (path: string, detail = ''): FieldProblem => ({
  path,
  reason: 'FieldValueRequired',
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
});

export const notSupported = (path: string, value: unknown, values: readonly string[]): FieldProblem => ({
  path,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shown(value)}: supported values: ${[...values]
    .sort()
    .map((each) => JSON.stringify(each))
    .join(', ')}`,
});

export const forbiddenField = (path: string, detail: string): FieldProblem => ({
  path,
  reason: 'FieldValueForbidden',
  message: `Forbidden: ${detail}`,
});

export const duplicate = (path: string, value: unknown): FieldProblem => ({
  path,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${shown(value)}`,
});

export const tooLong = (path: string, limit: number): FieldProblem => ({
  path,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
});

export const immutable = (path: string, value: unknown): FieldProblem =>
  invalidValue(path, value, 'field is immutable');

export function invalid(of: Named, name: string, problems: readonly FieldProblem[]): ApiError {
  const texts = [...new Set(problems.map(({ path, message }) => `${path}: ${message}`))];
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualified(of, of.kind)} "${name}" is invalid: ${all}`, {
    ...detailsOf(of, name),
    kind: of.kind,
    causes: problems.map(({ path, reason, message }) => ({ reason, message, field: path })),
  });
}
