// What an instance records on its slice about the certificate of an API server, so that the instance that writes the kubeconfig knows which
// names clients can verify. Written and read as JSON, bounded: the names come from a tenant's machine. Pure.

export interface CertificateRecord {
  /** DNS names in lower case and IP addresses. */
  readonly names: readonly string[];
  /** How many names were left out. */
  readonly omitted: number;
  /** ISO 8601. */
  readonly notAfter: string;
}

/** Of the JSON text. The seven server names of a cluster with the longest possible names have about 1000 characters. */
const MAX_TEXT = 1500;
/** Of a foreign text that is parsed at all. */
export const MAX_RECORD_TEXT = 2000;
const MAX_NAMES = 64;
const NAME = /^[-*.:_a-z0-9]{1,253}$/;

/** The record with as many names as it may hold. Names that verify one of `first` come first, so they are never left out for others. */
export function boundedRecord(
  { names, omitted, notAfter }: CertificateRecord,
  first: readonly string[],
): CertificateRecord {
  const isFirst = (name: string): boolean => first.some((each) => matches(name, each));
  const ordered = [...names.filter(isFirst), ...names.filter((name) => !isFirst(name))];
  const kept: string[] = [];
  let length = recordText({ names: [], omitted: names.length + omitted, notAfter }).length;
  for (const name of ordered) {
    length += name.length + 3;
    if (length > MAX_TEXT || kept.length === MAX_NAMES) break;
    kept.push(name);
  }
  return Object.freeze({
    names: Object.freeze(kept),
    omitted: omitted + names.length - kept.length,
    notAfter,
  });
}

export const recordText = ({ names, omitted, notAfter }: CertificateRecord): string =>
  JSON.stringify({ names, ...(omitted > 0 && { omitted }), notAfter });

/** null if the text is no valid record. Other clients can write annotations too. */
export function recordIn(text: string | undefined): CertificateRecord | null {
  if (text === undefined || text.length > MAX_RECORD_TEXT) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { names, omitted = 0, notAfter } = (value ?? {}) as Record<string, unknown>;
  const isValid =
    Array.isArray(names) &&
    names.length <= MAX_NAMES &&
    names.every((name) => typeof name === 'string' && NAME.test(name)) &&
    typeof omitted === 'number' &&
    typeof notAfter === 'string' &&
    Number.isFinite(Date.parse(notAfter));
  return isValid ? Object.freeze({ names: Object.freeze([...names]), omitted, notAfter }) : null;
}

/** What holds for all certificates: only their common names, and the earliest end. null: there are none. */
export function joinedRecord(records: readonly CertificateRecord[]): CertificateRecord | null {
  const [first, ...others] = records;
  if (first === undefined) return null;
  if (others.length === 0) return first;
  const isCommon = (name: string): boolean => others.every(({ names }) => names.includes(name));
  const ends = records.map(({ notAfter }) => Date.parse(notAfter));
  return {
    names: first.names.filter(isCommon),
    omitted: Math.max(...records.map(({ omitted }) => omitted)),
    notAfter: new Date(Math.min(...ends)).toISOString(),
  };
}

/** Whether clients that expect this name accept the certificate. */
export const verifies = ({ names }: CertificateRecord, name: string): boolean =>
  names.some((each) => matches(each, name));

/** A wildcard replaces the first label. Some TLS libraries accept it only with two labels behind it. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === name;
  const rest = pattern.slice(1);
  return rest.lastIndexOf('.') > 0 && name.indexOf('.') === name.length - rest.length && name.endsWith(rest);
}

/** For a message. */
export function recordNames({ names, omitted }: CertificateRecord): string {
  const shown = names.slice(0, MAX_SHOWN);
  const more = names.length - shown.length + omitted;
  if (shown.length === 0) return more === 0 ? 'it has no names' : 'it has none that can be used';
  return `it has ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

const MAX_SHOWN = 12;
