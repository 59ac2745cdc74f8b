// The one line that `systemctl status` shows of us. Pure.

export interface ServiceSummary {
  /** Where clients are served; null: not yet. */
  readonly listen: string | null;
  /** How many clusters are in which state. */
  readonly states: ReadonlyMap<string, number>;
  /** Since when the Kubernetes API was not heard; null while it is, or there is none. */
  readonly staleSince: string | null;
}

/** What needs somebody's attention comes first; clusters that are not proxied need none. */
const TOLD = ['unhealthy', 'no-netns', 'invalid', 'pending'] as const;

export function statusLine({ listen, states, staleSince }: ServiceSummary): string {
  const count = (state: string) => states.get(state) ?? 0;
  const serving = count('serving');
  const clusters = `${serving} ${serving === 1 ? 'cluster' : 'clusters'}`;
  const parts = [`serving ${clusters}${listen === null ? '' : ` at ${listen}`}`];
  for (const state of TOLD) if (count(state) > 0) parts.push(`${count(state)} ${state}`);
  if (staleSince !== null) parts.push(`no word from the Kubernetes API since ${staleSince}`);
  return parts.join(', ');
}
