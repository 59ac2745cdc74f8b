// The types of a check and its finding. A check changes nothing. It reports what it found and, if something is wrong, what to change
// in one sentence.

export type Finding =
  | { readonly kind: 'ok'; readonly found: string }
  /** `warning`: it works, or may be intended. `problem`: something will not work. */
  | { readonly kind: 'warning' | 'problem'; readonly found: string; readonly fix: string }
  /** The check could not run, or could not see the answer. */
  | { readonly kind: 'skipped'; readonly found: string };

export interface Check {
  /** One stable word: scripts read it. */
  readonly name: string;
  /** Checks that this one depends on. It is skipped if one of them found a problem or was skipped. */
  readonly after?: readonly string[];
  /** Overrides the usual timeout. */
  readonly timeoutMs?: number;
  /** An exception is reported as a bug of isthmus, not as a problem of the site. */
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
