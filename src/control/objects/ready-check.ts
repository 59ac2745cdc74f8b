// What a process must have done once before it counts as ready. A later failure does not fail a check again: an instance that loses
// the Kubernetes API continues to serve its clients.

export interface ReadyCheck {
  /** As `/readyz?verbose` shows it. */
  readonly name: string;
  /** null: passed. */
  readonly failure: string | null;
}

/** Whether a collection was listed at least once. */
export function listCheck(
  name: string,
  { synced, problem }: { readonly synced: boolean; readonly problem: { readonly message: string } | null },
): ReadyCheck {
  return { name, failure: synced ? null : (problem?.message ?? 'not listed yet') };
}
