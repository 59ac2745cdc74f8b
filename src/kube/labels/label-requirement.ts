// One requirement of a label selector or a node selector. Parses it from unvalidated JSON and names every problem. Matches labels
// exactly like apimachinery's `labels.Requirement`. Pure.
import { isRecord } from '../kube-object.ts';
import { labelKeyProblem, labelValueProblem } from './label-syntax.ts';

export type LabelOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: ReadonlySet<string>;
}

export type Labels = Readonly<Record<string, string>>;

const FIELDS = ['key', 'operator', 'values'];
const MAX_SHOWN = 60;

/** Returns the valid requirements of a list. Adds each problem, with its path, to `problems`. */
export function readRequirements(
  list: unknown,
  path: string,
  operators: readonly LabelOperator[],
  problems: string[],
): LabelRequirement[] {
  if (!Array.isArray(list)) {
    problems.push(`${path} is ${shown(list)}: expected a list`);
    return [];
  }
  const requirements: LabelRequirement[] = [];
  for (const [index, each] of list.entries()) {
    const before = problems.length;
    const requirement = readRequirement(each, `${path}[${index}]`, operators, problems);
    if (requirement !== null && problems.length === before) requirements.push(requirement);
  }
  return requirements;
}

function readRequirement(
  each: unknown,
  path: string,
  operators: readonly LabelOperator[],
  problems: string[],
): LabelRequirement | null {
  if (!isRecord(each)) {
    problems.push(`${path} is ${shown(each)}: expected an object with key, operator and values`);
    return null;
  }
  refuseUnknownFields(each, path, FIELDS, problems);
  const refuse = (field: string, value: unknown, wanted: string) =>
    problems.push(`${path}.${field} is ${shown(value)}: ${wanted}`);
  const { key, operator: word, values: given } = each;
  const keyProblem = typeof key === 'string' ? labelKeyProblem(key) : 'expected the key of a label';
  if (keyProblem !== null) refuse('key', key, keyProblem);
  const values = readTexts(given, `${path}.values`, problems);
  for (const [index, value] of (values ?? []).entries()) {
    const problem = labelValueProblem(value);
    if (problem !== null) refuse(`values[${index}]`, value, problem);
  }
  const operator = operators.find((known) => known === word);
  if (operator === undefined) {
    refuse('operator', word, `expected one of ${operators.join(', ')}`);
    return null;
  }
  if (values === null) return null;
  const wrong = arityProblem(operator, values);
  if (wrong !== null) refuse('values', values, wrong);
  return { key: key as string, operator, values: new Set(values) };
}

function arityProblem(operator: LabelOperator, values: readonly string[]): string | null {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length === 0 ? `${operator} needs at least one value` : null;
    case 'Exists':
    case 'DoesNotExist':
      return values.length > 0 ? `${operator} takes no values` : null;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) return `${operator} takes exactly one value`;
      return integer(values[0] as string) === null ? `${operator} needs a whole number` : null;
  }
}

/** Whether the labels meet the requirement. A missing label is in no set of values, and is neither greater nor less than a number. */
export function meets({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  // Labels come from outside: `constructor` is a valid key.
  const value = Object.hasOwn(labels, key) ? (labels[key] as string) : null;
  switch (operator) {
    case 'In':
      return value !== null && values.has(value);
    case 'NotIn':
      return value === null || !values.has(value);
    case 'Exists':
      return value !== null;
    case 'DoesNotExist':
      return value === null;
    case 'Gt':
    case 'Lt': {
      const [limitText = ''] = values;
      const found = value === null ? null : integer(value);
      const limit = integer(limitText);
      if (found === null || limit === null) return false;
      return operator === 'Gt' ? found > limit : found < limit;
    }
  }
}

const INT64 = 2n ** 63n;

/** Parses like Go's `strconv.ParseInt(text, 10, 64)`; null if that rejects the text. */
function integer(text: string): bigint | null {
  // A label has at most 63 characters. The check bounds the cost of the conversion of a longer input.
  if (text.length > 128 || !/^[+-]?\d+$/.test(text)) return null;
  const value = BigInt(text.replace(/^\+/, ''));
  return value >= -INT64 && value < INT64 ? value : null;
}

export function refuseUnknownFields(
  object: Readonly<Record<string, unknown>>,
  path: string,
  known: readonly string[],
  problems: string[],
): void {
  // If a misspelt field were ignored, the selector would select too much.
  for (const name of Object.keys(object))
    if (!known.includes(name))
      problems.push(`${path} has a field ${shown(name)}, but only ${known.join(', ')} are known`);
}

/** null if there was a problem. */
function readTexts(given: unknown, path: string, problems: string[]): readonly string[] | null {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) {
    problems.push(`${path} is ${shown(given)}: expected a list of texts`);
    return null;
  }
  const odd = given.findIndex((value) => typeof value !== 'string');
  if (odd === -1) return given as string[];
  problems.push(`${path}[${odd}] is ${shown(given[odd])}: expected text, in quotes`);
  return null;
}

/** A short, one-line form of any value for messages. Shows nothing deeper than a list of strings. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (isRecord(value)) return 'an object';
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === 'string');
  if (Array.isArray(value) && !isTexts) return 'a list';
  const text = isTexts || typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
