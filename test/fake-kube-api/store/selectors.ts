// Parses label and field selectors of a query string: `a=b,c in (d,e),!f` and `metadata.name=x`.
import { badRequest } from '../api-error.ts';
import { isLabelValue, isQualifiedName } from '../names.ts';
import { isMap, type StoredObject } from '../stored-object.ts';

export type Matcher = (object: StoredObject) => boolean;

export const EVERYTHING: Matcher = () => true;

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

/** Splits at commas that are not inside parentheses. */
function requirementsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    else if (text[index] === ')') depth -= 1;
    else if (text[index] === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function labelTest(requirement: string): LabelTest {
  const refuse = () => badRequest(`unable to parse requirement: found '${requirement}'`);
  const key = (text: string): string => {
    if (!isQualifiedName(text)) throw refuse();
    return text;
  };
  const value = (text: string): string => {
    if (!isLabelValue(text)) throw refuse();
    return text;
  };
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(requirement);
  if (set !== null) {
    const name = key(set[1] as string);
    const values = new Set((set[3] as string).split(',').map((each) => value(each.trim())));
    return set[2] === 'in'
      ? (labels) => labels[name] !== undefined && values.has(labels[name])
      : (labels) => labels[name] === undefined || !values.has(labels[name]);
  }
  const comparison = /^([^\s=!<>]+)\s*(==|=|!=|<|>)\s*(\S*)$/.exec(requirement);
  if (comparison !== null) {
    const name = key(comparison[1] as string);
    const operand = comparison[3] as string;
    switch (comparison[2]) {
      case '!=':
        value(operand);
        return (labels) => labels[name] !== operand;
      case '<':
      case '>': {
        if (!/^-?\d+$/.test(operand)) throw refuse();
        const sign = comparison[2] === '<' ? -1 : 1;
        return (labels) =>
          /^-?\d+$/.test(labels[name] ?? '') && sign * (Number(labels[name]) - Number(operand)) > 0;
      }
      default:
        value(operand);
        return (labels) => labels[name] === operand;
    }
  }
  if (requirement.startsWith('!')) {
    const name = key(requirement.slice(1).trim());
    return (labels) => labels[name] === undefined;
  }
  const name = key(requirement);
  return (labels) => labels[name] !== undefined;
}

const NO_LABELS: Readonly<Record<string, string>> = Object.freeze({});

export function labelMatcher(selector: string | null): Matcher {
  const tests = requirementsOf(selector ?? '').map(labelTest);
  if (tests.length === 0) return EVERYTHING;
  return ({ metadata }) => tests.every((test) => test(metadata.labels ?? NO_LABELS));
}

/** `supported` lists the selectable paths of this kind. `metadata.name` and `metadata.namespace` are always selectable. */
export function fieldMatcher(selector: string | null, supported: readonly string[], kind: string): Matcher {
  const tests = requirementsOf(selector ?? '').map((requirement): Matcher => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(requirement);
    if (match === null)
      throw badRequest(`invalid field selector: ${requirement}; can't understand '${requirement}'`);
    const [, path = '', operator, operand] = match;
    if (path !== 'metadata.name' && path !== 'metadata.namespace' && !supported.includes(path))
      throw badRequest(
        `Unable to find "${kind}" that match label selector "", field selector "${selector}": field label not supported: ${path}`,
      );
    const keys = path.split('.');
    return (object) => {
      let found: unknown = object;
      for (const key of keys) found = isMap(found) ? found[key] : undefined;
      return (String(found ?? '') === operand) === (operator !== '!=');
    };
  });
  return tests.length === 0 ? EVERYTHING : (object) => tests.every((test) => test(object));
}

/** The name, if the field selector selects exactly one name. Such a list needs only one lookup. */
export function selectedName(selector: string | null): string | null {
  return /^metadata\.name==?([^,!=]+)$/.exec(selector ?? '')?.[1] ?? null;
}
