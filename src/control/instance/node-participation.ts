// Decides whether this instance takes part: whether `--node-selector` selects its Node, and what happens if that is unknown. Only
// publishing depends on it; withdrawal and cleanup do not. Pure.
import type { Labels } from '../../kube/labels/label-requirement.ts';
import { type NodeSelector, unmetRequirement } from '../../kube/labels/node-selector.ts';

/** What to do if the Node is unknown. */
export type UnknownNode = 'take-part' | 'stay-out';

/** The result of reading the Node. */
export type NodeObservation =
  | { readonly kind: 'not-yet' }
  | { readonly kind: 'seen'; readonly labels: Labels }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

export interface Participation {
  readonly takesPart: boolean;
  /** A short text for status and log. */
  readonly reason: string;
  /** Why `takesPart` is only the configured default; null if the Node was read. */
  readonly problem: string | null;
}

export const EVERY_NODE: Participation = Object.freeze({
  takesPart: true,
  reason: 'every node takes part',
  problem: null,
});

/** null until the Node was read once. Nothing is written before that, so a restart changes nothing. */
export function participation(
  node: string,
  selector: NodeSelector,
  unknown: UnknownNode,
  observation: NodeObservation,
): Participation | null {
  switch (observation.kind) {
    case 'not-yet':
      return null;
    case 'seen': {
      const unmet = unmetRequirement(selector, observation.labels);
      return unmet === null
        ? { takesPart: true, reason: `Node ${node} is selected`, problem: null }
        : { takesPart: false, reason: `Node ${node} is not selected: ${unmet} is not met`, problem: null };
    }
    case 'absent':
      return guessed(unknown, `there is no Node ${node}`);
    case 'unreadable':
      return guessed(unknown, `Node ${node} cannot be read (${observation.why})`);
  }
}

function guessed(unknown: UnknownNode, why: string): Participation {
  const takesPart = unknown === 'take-part';
  const done = takesPart ? 'this instance takes part' : 'this instance does not take part';
  const problem = `${why}, so it is unknown whether it is selected: ${done} (--unknown-node ${unknown})`;
  return { takesPart, reason: `${why}: --unknown-node ${unknown}`, problem };
}
