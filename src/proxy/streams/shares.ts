// Counts the connections of each share and the slots of each group. The policy sets these limits; the engine only applies them.
import type { Share, SlotShares } from '../engine.ts';

/** A connection's place in its share: a reserved slot of its group or a common slot. Valid until `leave`. */
export interface Slot {
  readonly share: Share;
  readonly inCommonSlot: boolean;
}

export class Shares {
  readonly #counts = new Map<string, number>();
  readonly #reserved = new Map<string, number>();
  #inCommonSlots = 0;
  #slots: SlotShares;

  constructor(slots: SlotShares) {
    this.#slots = slots;
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  shareSlots(slots: SlotShares): void {
    const { reserved, common, groups } = slots;
    let surplus = 0;
    for (const [group, held] of this.#reserved)
      surplus += Math.max(0, held - (groups.has(group) ? reserved : 0));
    this.#slots = { ...slots, common: Math.max(0, common - surplus) };
  }

  /** Takes a slot. Returns the name of the limit instead when one is reached. */
  enter(share: Share): Slot | 'share' | 'slots' {
    if ((this.#counts.get(share.key) ?? 0) >= share.limit) return 'share';
    const group = groupOf(share);
    const inCommonSlot = (this.#reserved.get(group) ?? 0) >= this.#slots.reserved;
    if (inCommonSlot && this.#inCommonSlots >= this.#slots.common) return 'slots';
    if (inCommonSlot) this.#inCommonSlots += 1;
    else add(this.#reserved, group, 1);
    add(this.#counts, share.key, 1);
    return { share, inCommonSlot };
  }

  leave({ share, inCommonSlot }: Slot): void {
    if (inCommonSlot) this.#inCommonSlots -= 1;
    else add(this.#reserved, groupOf(share), -1);
    add(this.#counts, share.key, -1);
  }
}

const groupOf = ({ key, group }: Share): string => group ?? key;

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
