// Which machines belong to a pool: by a selector, by labels that a rollout tool moves on (`rolloutLabels`), and by the keys that the
// operator alone has named to be left out (`--ignored-selector-labels`). What matches only without those is known in advance and
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

/** `ignored`: the next generation, or the last one: probed, and never sent anybody. */
export type PoolMembership = 'member' | 'ignored' | 'none';

export interface PoolSelection {
  readonly members: LabelSelector;
  /** The same, with nothing asked of the ignored keys. */
  readonly known: LabelSelector;
}

export type ReadPoolSelection =
  | { readonly kind: 'selection'; readonly selection: PoolSelection }
  /** Every reason; never empty. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

export interface PoolFields {
  /** A LabelSelector over the machines of one cluster, as the API has it; none, or an empty one: its control plane. */
  readonly selector: unknown;
  /** Labels that must be there as well. */
  readonly rolloutLabels: unknown;
}

/** By Cluster API, on each machine of a control plane, with an empty value. */
const CONTROL_PLANE: LabelSelector = Object.freeze({
  requirements: Object.freeze([
    Object.freeze({
      key: 'cluster.x-k8s.io/control-plane',
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
  // Otherwise whoever may edit a listener could ask for any label, and so move it to any machine although its selector is fixed.
  for (const { key } of rollout)
    if (!ignored.has(key))
      problems.push(
        `spec.rolloutLabels has the key "${key}": only those that the operator names in --ignored-selector-labels may be ` +
          `there (${ignored.size === 0 ? 'there are none' : [...ignored].join(', ')})`,
      );
  if (parsed.kind === 'invalid') return { kind: 'refused', problems };

  const selector = isEverything(parsed.selector) ? CONTROL_PLANE : parsed.selector;
  // What stands for an empty selector is nobody's label to leave out.
  const known = selector === CONTROL_PLANE ? selector : withoutKeys(selector, ignored);
  if (isEverything(known))
    problems.push(
      'spec.selector asks only for labels that are left out when matching (--ignored-selector-labels): every machine would be known',
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
