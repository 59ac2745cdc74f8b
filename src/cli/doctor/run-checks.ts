// Runs checks concurrently, each with a timeout. It reports the results in the order of the list, each as soon as all earlier results
// are known.
import { type Check, type CheckResult, type Finding, problem, skipped } from './check.ts';

export interface RunOptions {
  /** For a check without its own timeout. The time starts when the checks it depends on are done. */
  readonly timeoutMs: number;
  /** In the order of the list. */
  readonly onResult: (result: CheckResult) => void;
  /** Called at an interval with the names of the checks that are still running. */
  readonly onWaiting: (names: readonly string[]) => void;
  readonly waitingEveryMs?: number;
}

const WAITING_EVERY_MS = 2000;

export async function runChecks(
  checks: readonly Check[],
  { timeoutMs, onResult, onWaiting, waitingEveryMs = WAITING_EVERY_MS }: RunOptions,
): Promise<readonly CheckResult[]> {
  const findings = new Map<string, Promise<Finding>>();
  const underWay = new Set<string>();
  for (const check of checks) {
    // A check that this one depends on comes earlier in the list, or is not in the list.
    const needed = (check.after ?? []).map((name) => ({ name, finding: findings.get(name) }));
    findings.set(check.name, afterThose(check, needed, check.timeoutMs ?? timeoutMs, underWay));
  }
  const timer = setInterval(() => {
    if (underWay.size > 0) onWaiting([...underWay]);
  }, waitingEveryMs);
  const results: CheckResult[] = [];
  try {
    for (const [name, finding] of findings) {
      const result = { name, finding: await finding };
      results.push(result);
      onResult(result);
    }
  } finally {
    clearInterval(timer);
  }
  return results;
}

async function afterThose(
  check: Check,
  needed: readonly { readonly name: string; readonly finding: Promise<Finding> | undefined }[],
  timeoutMs: number,
  underWay: Set<string>,
): Promise<Finding> {
  for (const { name, finding } of needed) {
    const { kind } = (await finding) ?? { kind: 'ok' };
    if (kind === 'problem' || kind === 'skipped') return skipped(`not checked, because of ${name}`);
  }
  underWay.add(check.name);
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<Finding>((resolve) => {
    timer = setTimeout(
      () =>
        resolve(
          problem(
            `no answer within ${timeoutMs / 1000} s`,
            'Find out what this check waits for, and try again.',
          ),
        ),
      timeoutMs,
    );
  });
  try {
    // Runs in a microtask: all checks are started before the first one does slow work.
    return await Promise.race([Promise.resolve().then(check.run), deadline]);
  } catch (error) {
    return problem(
      `the check itself failed: ${(error as Error).message}`,
      'This is a bug of isthmus: please report it.',
    );
  } finally {
    clearTimeout(timer);
    underWay.delete(check.name);
  }
}
