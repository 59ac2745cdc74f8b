// The order of the test files in `npm test`. vitest sorts by the durations of earlier runs; a fresh clone, such as one in CI, has none, and
// vitest then starts large files first. A long file that starts last leaves all cores but one idle.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take more than seven seconds on two cores, longest first. Most of them wait. */
export const LONGEST = [
  'test/control/instance/take-over.test.ts',
  'test/netns/addon-engine.test.ts',
  'test/engines/native-engine.test.ts',
  'test/control/instance/host-name.test.ts',
  'test/systemd/upgrade.test.ts',
  'test/control/instance/take-over-paused.test.ts',
  'test/control/instance/lease-lapse.test.ts',
  'test/control/instance/rolling-upgrade.test.ts',
  'test/control/apply/kubeconfig-turns.test.ts',
  'test/bench/load.test.ts',
  'test/engines/streams-engine.test.ts',
  'test/control/instance/handover.test.ts',
  'test/control/rights/rbac.test.ts',
  'test/attacks/name-claims.test.ts',
  'test/control/rights/rbac-rest.test.ts',
  'test/lifecycle/handover-meeting.test.ts',
  'test/control/apply/write-faults.test.ts',
  'test/netns/addon-prober.test.ts',
  'test/control/instance/many-instances.test.ts',
  'test/control/apply/listeners.test.ts',
  'test/control/apply/api-history.test.ts',
  'test/systemd/notify.test.ts',
  'test/control/instance/surge.test.ts',
  'test/demo/demo.test.ts',
  'test/engines/native-stall.test.ts',
  'test/bench/smoke.test.ts',
  'test/cli/top.test.ts',
  'test/control-thread/control-link.test.ts',
  'test/control/instance/ready.test.ts',
  'test/control/instance/node-selector.test.ts',
  'test/control/apply/tcp-listeners.test.ts',
  'test/proxy/life.test.ts',
  'test/control/rights/rbac-writes.test.ts',
  'test/docs/pages.test.ts',
  'test/proxy/listener-ports.test.ts',
  'test/tls/differential.test.ts',
  'test/attacks/admin-host.test.ts',
  'test/attacks/spec-network.test.ts',
  'test/cli/doctor/kubernetes.test.ts',
  'test/control/apply/watch-faults.test.ts',
  'test/control/sources/file-source.test.ts',
  'test/control/apply/listener-members.test.ts',
  'test/attacks/netns-match.test.ts',
  'test/control/apply/cluster-faults.test.ts',
  'test/control/apply/operator-view.test.ts',
  'test/scripts/second-look.test.ts',
  'test/kube-api/embedded.test.ts',
];

function place(file: string): number {
  const found = LONGEST.findIndex((name) => file.endsWith(`/${name}`));
  return found < 0 ? LONGEST.length : found;
}

/** For Array.prototype.sort, which is stable: the files that are not listed keep their order. */
export function byPlace(left: { readonly moduleId: string }, right: { readonly moduleId: string }): number {
  return place(left.moduleId) - place(right.moduleId);
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort(byPlace);
  }
}
