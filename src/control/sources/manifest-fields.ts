// Reads typed fields from a manifest of unknown shape and collects each problem with its path. Never throws and never reads an
// inherited property: `__proto__` in a manifest is an ordinary name.
import { shownValue } from '../objects/shown-value.ts';

/** Dots separate names. If a name contains dots, pass a list of names. */
export type FieldPath = string | readonly string[];

export interface ManifestFields {
  /** In reading order; empty if all fields are valid. */
  readonly problems: readonly string[];
  /**
   * `text`, `port` and `flag` return null for a field that is absent, null or invalid. Older CAPO versions write Go's zero values for "not
   * set", so the text "" and the port 0 count as absent.
   */
  text(path: FieldPath): string | null;
  /** A whole number from 1 to 65535. */
  port(path: FieldPath): number | null;
  flag(path: FieldPath): boolean | null;
  /** Adds the problem of a semantic check to the same list. */
  refuse(path: FieldPath, value: unknown, wanted: string): void;
}

const ABSENT = Symbol('absent');

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function manifestFields(object: unknown): ManifestFields {
  const problems: string[] = [];

  const refuse = (path: FieldPath, value: unknown, wanted: string) => {
    const shown = value === undefined || value === null ? 'missing' : shownValue(value);
    const problem = `${typeof path === 'string' ? path : path.join('.')} is ${shown}: ${wanted}`;
    // A broken parent is reported once, not once per field below it.
    if (!problems.includes(problem)) problems.push(problem);
  };

  const valueAt = (path: FieldPath): unknown => {
    const names = typeof path === 'string' ? path.split('.') : path;
    let value: unknown = object;
    for (const [depth, name] of names.entries()) {
      if (value === null || value === undefined) return ABSENT;
      if (!isRecord(value)) {
        refuse(depth === 0 ? 'the document' : names.slice(0, depth), value, 'expected an object');
        return ABSENT;
      }
      value = Object.hasOwn(value, name) ? value[name] : ABSENT;
      if (value === ABSENT) return ABSENT;
    }
    return value ?? ABSENT;
  };

  return {
    problems,
    refuse,
    text(path) {
      const value = valueAt(path);
      if (value === ABSENT || value === '') return null;
      if (typeof value === 'string') return value;
      refuse(path, value, 'expected text, in quotes if it looks like another type');
      return null;
    },
    port(path) {
      const value = valueAt(path);
      if (value === ABSENT || value === 0) return null;
      if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535) return value;
      refuse(path, value, 'expected a whole number from 1 to 65535, without quotes');
      return null;
    },
    flag(path) {
      const value = valueAt(path);
      if (value === ABSENT) return null;
      if (typeof value === 'boolean') return value;
      refuse(path, value, 'expected true or false, without quotes');
      return null;
    },
  };
}
