// Whether this process may take the Lease of its node from another process at once. Each rule proves that the holder is dead, or that its
// owner wants it replaced. Without a rule, the process waits for the expiry of the Lease: a second process that was started by accident
// must not replace a working one.
//
// | rule         | proof                                                                                          |
// | handed-over  | the holder gave its listening sockets to this process                                           |
// | dead         | the holder's mark in a directory of this host (`LivenessMark`) has no listener any more         |
// | daemonset    | a Pod of the same DaemonSet, not older than the holder's, that serves at least the same clusters |
// | take-over    | the operator said so (`--take-over`); counts once                                               |
// | replaced     | this process took the Lease from this holder before, and a restored API server shows it again   |
import { DAEMONSET_ANNOTATION, HOST_ANNOTATION } from '../objects/object-labels.ts';
import type { LeaseObject } from '../objects/published-objects.ts';
import type { MarkState } from './liveness-mark.ts';

export type ClaimReason = 'handed-over' | 'dead' | 'daemonset' | 'take-over' | 'replaced';

/** A Pod of a DaemonSet. Two Pods of one DaemonSet run on one node only while the newer one replaces the older one. */
export interface DaemonSetPod {
  /** `<namespace>/<name>` of the DaemonSet. */
  readonly name: string;
  /** The version of the template that the Pod was made from. */
  readonly generation: number;
}

/** What a process knows about itself before it asks for the Lease. */
export interface ClaimSettings {
  /** The random part of the holder's name. */
  readonly processId: string;
  /** The process that handed its sockets over; null: none did. `processId` is null for a release that does not send it. */
  readonly predecessor: { readonly processId: string | null } | null;
  readonly takeOver: boolean;
  readonly daemonSet: DaemonSetPod | null;
}

export interface LeaseClaimOptions extends ClaimSettings {
  /** The boot id of this host; empty if unknown. */
  readonly host: string;
  /** What the mark of this holder in our directory shows. */
  readonly markOf: (holder: string) => Promise<MarkState>;
  /** True if this process serves every cluster for which this instance has a slice. */
  readonly servesAll: () => boolean;
}

export class LeaseClaim {
  readonly #options: LeaseClaimOptions;
  readonly #replaced = new Set<string>();
  #mayTakeOver: boolean;

  constructor(options: LeaseClaimOptions) {
    this.#options = options;
    this.#mayTakeOver = options.takeOver;
  }

  /** null: no rule applies now. */
  async reason(lease: LeaseObject): Promise<ClaimReason | null> {
    const { predecessor, markOf } = this.#options;
    const holder = lease.spec?.holderIdentity ?? '';
    const annotations = lease.metadata?.annotations ?? {};
    if (this.#replaced.has(holder)) return 'replaced';
    if (this.#mayTakeOver) return 'take-over';
    if (!this.#isOurHost(annotations[HOST_ANNOTATION] ?? '')) return null;
    if (predecessor !== null && isOf(holder, predecessor.processId)) return 'handed-over';
    const mark = await markOf(holder);
    if (mark === 'dead') return 'dead';
    // Pods that replace each other without a handover share no directory: this is a second process in the Pod of the holder.
    if (mark === 'alive') return null;
    return this.#isSuccessorPod(annotations) ? 'daemonset' : null;
  }

  /** This process took the Lease; `holder` had it before, or is empty. */
  taken(holder: string): void {
    this.#mayTakeOver = false;
    if (holder !== '') this.#replaced.add(holder);
  }

  /** A Pod runs on the node of the Pod that it replaces, so both have one boot id. */
  #isOurHost(host: string): boolean {
    return host === '' || this.#options.host === '' || host === this.#options.host;
  }

  #isSuccessorPod(annotations: Readonly<Record<string, string>>): boolean {
    const { daemonSet, servesAll } = this.#options;
    if (daemonSet === null) return false;
    const theirs = daemonSetPod(annotations[DAEMONSET_ANNOTATION] ?? '');
    const isSame = theirs?.name === daemonSet.name && theirs.generation <= daemonSet.generation;
    return isSame && servesAll();
  }
}

const isOf = (holder: string, processId: string | null): boolean =>
  processId === null || holder.endsWith(`/${processId}`);

export const daemonSetText = ({ name, generation }: DaemonSetPod): string => `${name}:${generation}`;

/** null: the text names no Pod of a DaemonSet. */
export function daemonSetPod(text: string): DaemonSetPod | null {
  const [, name, generation] = /^([^/:\s]+\/[^/:\s]+):(\d{1,15})$/.exec(text) ?? [];
  return name === undefined ? null : { name, generation: Number(generation) };
}
