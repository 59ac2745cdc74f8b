// What a check is and what it may find. A check looks and changes nothing; it says what it saw, and where something is wrong, in
// one sentence what to change.

export type Finding =
  | { readonly kind: 'ok'; readonly found: string }
  /** `warning`: it works, or may be meant. `problem`: something will not work. */
  | { readonly kind: 'warning' | 'problem'; readonly found: string; readonly fix: string }
  /** It could not be looked at. */
  | { readonly kind: 'skipped'; readonly found: string };

export interface Check {
  /** One word, stable: scripts read it. */
  readonly name: string;
  /** Checks without which this one makes no sense: it is skipped where one of them found a problem. */
  readonly after?: readonly string[];
  /** Where it needs longer than the others. */
  readonly timeoutMs?: number;
  /** What it throws counts as a bug of ours, not of the site. */
  readonly run: () => Finding | Promise<Finding>;
}

export interface CheckResult {
  readonly name: string;
  readonly finding: Finding;
}

export const ok = (found: string): Finding => ({ kind: 'ok', found });
export const warning = (found: string, fix: string): Finding => ({ kind: 'warning', found, fix });
export const problem = (found: string, fix: string): Finding => ({ kind: 'problem', found, fix });
export const skipped = (found: string): Finding => ({ kind: 'skipped', found });
