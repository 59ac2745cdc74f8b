// A node selector: a list of requirements. A node is selected if its labels meet all of them. It has the format of `matchExpressions` in a
// node affinity term: six operators, with the scheduler's semantics (component-helpers' `nodeaffinity`). Pure.
import {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  meets,
  readRequirements,
} from './label-requirement.ts';

/** Never empty in a result of `parseNodeSelector`. */
export type NodeSelector = readonly LabelRequirement[];

export type ParsedNodeSelector =
  | { readonly kind: 'selector'; readonly selector: NodeSelector }
  /** An empty list. In Kubernetes it selects no node. Here it means every node, because a selector for no node would be useless. */
  | { readonly kind: 'every-node' }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

const OPERATORS: readonly LabelOperator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];

export function parseNodeSelector(value: unknown, path = 'matchExpressions'): ParsedNodeSelector {
  const problems: string[] = [];
  const selector = readRequirements(value, path, OPERATORS, problems);
  if (problems.length > 0) return { kind: 'invalid', problems };
  return selector.length === 0 ? { kind: 'every-node' } : { kind: 'selector', selector };
}

/** The first unmet requirement, for a message; null if all are met. */
export function unmetRequirement(selector: NodeSelector, labels: Labels): string | null {
  const unmet = selector.find((requirement) => !meets(requirement, labels));
  return unmet === undefined ? null : requirementText(unmet);
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  return values.size === 0 ? `${key} ${operator}` : `${key} ${operator} ${[...values].join(', ')}`;
}
