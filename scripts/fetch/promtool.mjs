// Provides promtool, which checks Prometheus rules and queries. It is built once from Go modules (test/e2e/promtool), outside the
// work tree.
import { ensureBuild } from './testbed.mjs';

/** Returns the environment variable that tells the tests where promtool is. One named in ISTHMUS_PROMTOOL is used unchanged. */
export async function ensurePromtool() {
  const { ISTHMUS_PROMTOOL: given } = process.env;
  if (given) return { ISTHMUS_PROMTOOL: given };
  const title = 'building promtool from Go modules (1 to 4 minutes, once)';
  const target = 'github.com/prometheus/prometheus/cmd/promtool';
  // The tag leaves out service discovery for all clouds: the tests use none of them.
  return { ISTHMUS_PROMTOOL: await ensureBuild('promtool', '', title, target, ['remove_all_sd']) };
}
