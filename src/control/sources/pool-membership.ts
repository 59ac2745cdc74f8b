// Decides which machines belong to a pool. Inputs: a selector, labels that a rollout changes (`rolloutLabels`), and label keys that
// only the operator sets (`--ignored-selector-labels`). A machine that matches only without the ignored keys is probed in advance but
// gets no traffic. Pure.
import {
  both,
  isEverything,
  type LabelSelector,
  matches,
  parseLabelSelector,
  readMatchLabels,
  withoutKeys,
} from '../../kube/labels/label-selector.ts';
import { CONTROL_PLANE_LABEL } from '../objects/object-labels.ts';

/** `ignored`: a machine of the next or the previous rollout. It is probed but gets no clients. */
export type PoolMembership = 'member' | 'ignored' | 'none';

export interface PoolSelection {
  readonly members: LabelSelector;
  /** The same selector without the ignored keys. */
  readonly known: LabelSelector;
}

export type ReadPoolSelection =
  | { readonly kind: 'selection'; readonly selection: PoolSelection }
  /** All reasons; never empty. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

export interface PoolFields {
  /** A LabelSelector over the machines of one cluster, in API form. Absent or empty selects the control plane. */
  readonly selector: unknown;
  /** Labels that a machine must also have. */
  readonly rolloutLabels: unknown;
}

const CONTROL_PLANE: LabelSelector = Object.freeze({
  requirements: Object.freeze([
    Object.freeze({
      key: CONTROL_PLANE_LABEL,
      operator: 'Exists' as const,
      values: new Set<string>(),
    }),
  ]),
});

export function readPoolSelection(fields: PoolFields, ignored: ReadonlySet<string>): ReadPoolSelection {
  const problems: string[] = [];
  const parsed = parseLabelSelector(fields.selector ?? {}, 'spec.selector');
  if (parsed.kind === 'invalid') problems.push(...parsed.problems);
  const rollout = readMatchLabels(fields.rolloutLabels ?? {}, 'spec.rolloutLabels', problems);
  // The selector is immutable, so rollout labels are restricted too. Otherwise a user could move a listener to any machine by an edit.
  for (const { key } of rollout)
    if (!ignored.has(key))
      problems.push(
        `spec.rolloutLabels has the key "${key}": only keys in the operator's --ignored-selector-labels are ` +
          `allowed (${ignored.size === 0 ? 'it has none' : [...ignored].join(', ')})`,
      );
  if (parsed.kind === 'invalid') return { kind: 'refused', problems };

  const selector = isEverything(parsed.selector) ? CONTROL_PLANE : parsed.selector;
  // The default control-plane selector keeps its label, even if the operator ignores that key.
  const known = selector === CONTROL_PLANE ? selector : withoutKeys(selector, ignored);
  if (isEverything(known))
    problems.push(
      'spec.selector has only keys of --ignored-selector-labels, so without them it would match every machine',
    );
  if (problems.length > 0) return { kind: 'refused', problems };
  const members = rollout.length === 0 ? selector : both(selector, { requirements: rollout });
  return { kind: 'selection', selection: { members, known } };
}

export function poolMembership(
  { members, known }: PoolSelection,
  labels: Readonly<Record<string, string>>,
): PoolMembership {
  if (!matches(known, labels)) return 'none';
  return members === known || matches(members, labels) ? 'member' : 'ignored';
}
