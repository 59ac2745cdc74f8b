// Whether this instance takes part: whether the Node that it runs on is one of those that `--node-selector` selects, and what to do
// where that cannot be known. Only publishing asks; what is taken back and tidied up never does. Pure.
import type { Labels } from '../../kube/labels/label-requirement.ts';
import { type NodeSelector, unmetRequirement } from '../../kube/labels/node-selector.ts';

/** What is to be done where the Node cannot be known. */
export type UnknownNode = 'take-part' | 'stay-out';

/** What is known of the Node. */
export type NodeSighting =
  | { readonly kind: 'not-yet' }
  | { readonly kind: 'seen'; readonly labels: Labels }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

export interface Participation {
  readonly takesPart: boolean;
  /** In a few words, for status and log. */
  readonly reason: string;
  /** Why that is only a guess; null where it is known. */
  readonly problem: string | null;
}

export const EVERY_NODE: Participation = Object.freeze({
  takesPart: true,
  reason: 'every node takes part',
  problem: null,
});

/** null while it is too early to tell: then nothing is written, so that a restart changes nothing. */
export function participation(
  node: string,
  selector: NodeSelector,
  unknown: UnknownNode,
  sighting: NodeSighting,
): Participation | null {
  switch (sighting.kind) {
    case 'not-yet':
      return null;
    case 'seen': {
      const unmet = unmetRequirement(selector, sighting.labels);
      return unmet === null
        ? { takesPart: true, reason: `Node ${node} is selected`, problem: null }
        : { takesPart: false, reason: `Node ${node} is not selected: ${unmet} is not met`, problem: null };
    }
    case 'absent':
      return guessed(unknown, `there is no Node ${node}`);
    case 'unreadable':
      return guessed(unknown, `Node ${node} cannot be read (${sighting.why})`);
  }
}

function guessed(unknown: UnknownNode, why: string): Participation {
  const takesPart = unknown === 'take-part';
  const done = takesPart ? 'this instance takes part all the same' : 'this instance stays out';
  const problem = `${why}, so nobody can tell whether it is selected: ${done} (--unknown-node ${unknown})`;
  return { takesPart, reason: `${why}: --unknown-node ${unknown}`, problem };
}
