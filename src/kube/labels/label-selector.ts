// A LabelSelector: `matchLabels` and `matchExpressions`, combined with AND. Parses it from unvalidated JSON and matches exactly like
// apimachinery (`metav1.LabelSelectorAsSelector`). Independent of the selected objects. Pure.
import { isRecord } from '../kube-object.ts';
import {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  meets,
  readRequirements,
  refuseUnknownFields,
  shown,
} from './label-requirement.ts';
import { labelKeyProblem, labelValueProblem } from './label-syntax.ts';

export interface LabelSelector {
  /** Labels must meet all of them: an empty list matches everything. null matches nothing. */
  readonly requirements: readonly LabelRequirement[] | null;
}

export type ParsedLabelSelector =
  | { readonly kind: 'selector'; readonly selector: LabelSelector }
  /** Each problem with its path; never empty. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

export const NOTHING: LabelSelector = Object.freeze({ requirements: null });

const OPERATORS: readonly LabelOperator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** As in Kubernetes, a null or missing selector selects nothing, and `{}` selects everything. */
export function parseLabelSelector(value: unknown, path = 'selector'): ParsedLabelSelector {
  if (value === null || value === undefined) return { kind: 'selector', selector: NOTHING };
  if (!isRecord(value))
    return { kind: 'invalid', problems: [`${path} is ${shown(value)}: expected a label selector`] };
  const problems: string[] = [];
  refuseUnknownFields(value, path, ['matchLabels', 'matchExpressions'], problems);
  const requirements = [
    ...readMatchLabels(value.matchLabels ?? {}, `${path}.matchLabels`, problems),
    ...readRequirements(value.matchExpressions ?? [], `${path}.matchExpressions`, OPERATORS, problems),
  ];
  if (problems.length > 0) return { kind: 'invalid', problems };
  return { kind: 'selector', selector: { requirements } };
}

/** Also parses a plain map of required labels. */
export function readMatchLabels(value: unknown, path: string, problems: string[]): LabelRequirement[] {
  if (!isRecord(value)) {
    problems.push(`${path} is ${shown(value)}: expected labels`);
    return [];
  }
  const requirements: LabelRequirement[] = [];
  for (const [key, text] of Object.entries(value)) {
    const keyProblem = labelKeyProblem(key);
    if (keyProblem !== null) problems.push(`${path} has the key ${shown(key)}: ${keyProblem}`);
    const valueProblem = typeof text === 'string' ? labelValueProblem(text) : 'expected text, in quotes';
    if (valueProblem !== null) problems.push(`${path}[${shown(key)}] is ${shown(text)}: ${valueProblem}`);
    else requirements.push({ key, operator: 'In', values: new Set([text as string]) });
  }
  return requirements;
}

export function matches({ requirements }: LabelSelector, labels: Labels): boolean {
  return requirements?.every((requirement) => meets(requirement, labels)) ?? false;
}

/** The selector without its requirements on these keys. The result can select everything: check with `isEverything`. */
export function withoutKeys(selector: LabelSelector, keys: ReadonlySet<string>): LabelSelector {
  const { requirements } = selector;
  if (requirements === null || !requirements.some(({ key }) => keys.has(key))) return selector;
  return { requirements: requirements.filter(({ key }) => !keys.has(key)) };
}

/** Selects what both selectors select. */
export function both(one: LabelSelector, other: LabelSelector): LabelSelector {
  if (one.requirements === null || other.requirements === null) return NOTHING;
  return { requirements: [...one.requirements, ...other.requirements] };
}

/** The selector has no requirements. */
export const isEverything = ({ requirements }: LabelSelector): boolean => requirements?.length === 0;
