// A list of node selector requirements, all of which a node's labels must meet: the `matchExpressions` of a node affinity term, with
// all six operators and the semantics of the scheduler (component-helpers' `nodeaffinity`). Pure.
import {
  type LabelOperator,
  type LabelRequirement,
  type Labels,
  meets,
  readRequirements,
} from './label-requirement.ts';

/** Never empty where it comes from `parseNodeSelector`. */
export type NodeSelector = readonly LabelRequirement[];

export type ParsedNodeSelector =
  | { readonly kind: 'selector'; readonly selector: NodeSelector }
  /** An empty list. Kubernetes would select no node by it; here, as nobody lists nothing to select nothing, it is every node. */
  | { readonly kind: 'every-node' }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] };

const OPERATORS: readonly LabelOperator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];

export function parseNodeSelector(value: unknown, path = 'matchExpressions'): ParsedNodeSelector {
  const problems: string[] = [];
  const selector = readRequirements(value, path, OPERATORS, problems);
  if (problems.length > 0) return { kind: 'invalid', problems };
  return selector.length === 0 ? { kind: 'every-node' } : { kind: 'selector', selector };
}

export const matchesNode = (selector: NodeSelector, labels: Labels): boolean =>
  selector.every((requirement) => meets(requirement, labels));

/** The first requirement that is not met, for a message; null where all are. */
export function unmetRequirement(selector: NodeSelector, labels: Labels): string | null {
  const unmet = selector.find((requirement) => !meets(requirement, labels));
  return unmet === undefined ? null : requirementText(unmet);
}

export function requirementText({ key, operator, values }: LabelRequirement): string {
  return values.size === 0 ? `${key} ${operator}` : `${key} ${operator} ${[...values].join(', ')}`;
}
