// promtool, Prometheus' own judge of rules and queries, built from Go modules (test/e2e/promtool). Fetched once, outside the work tree.
import { ensureBuild } from './testbed.mjs';

/** The environment in which the tests find it; one that is named there already is used as it is. */
export async function ensurePromtool() {
  const { ISTHMUS_PROMTOOL: given } = process.env;
  if (given) return { ISTHMUS_PROMTOOL: given };
  const title = 'building promtool from Go modules (1 to 4 minutes, once)';
  const target = 'github.com/prometheus/prometheus/cmd/promtool';
  // Of the clouds in which it could look for targets we have none.
  return { ISTHMUS_PROMTOOL: await ensureBuild('promtool', '', title, target, ['remove_all_sd']) };
}
