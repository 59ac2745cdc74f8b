// A DaemonSet with surge where each Pod has its own address: the new Pod of a node starts before the old one stops, and the two share
// only the name of the node.
import { expect, test } from 'vitest';
import { PublishSite } from '../support/kubernetes/publish-site.ts';
import { until } from '../support/tcp.ts';
import { Pod } from './pod.ts';
import { nodeAddress } from './pod-network.ts';
import { ourProfile } from './seccomp-profile.ts';

/** The old Pod accepts for this time plus 3 s: enough for one request on a slow machine. */
const TIMES = ['--health-interval', '200ms', '--propagation-wait', '10s'];

test('the new Pod gets the clients; the old Pod serves late clients and then waits for kubelet, which would restart it', async () => {
  const site = await PublishSite.start({ host: nodeAddress(4) });
  const { alpha } = site.clusters;
  const options = { node: 'net-1', network: 4, seccomp: ourProfile() } as const;
  const [old, successor] = [new Pod(site.management, options), new Pod(site.management, options)];
  const leadsTo = ({ address }: Pod) =>
    JSON.stringify(site.slice('alpha-net-1')?.endpoints ?? []).includes(`"${address}"`);
  try {
    await old.isthmus.start(...TIMES);
    site.add(alpha);
    await site.published('alpha-net-1');
    expect(leadsTo(old)).toBe(true);
    const gone = site.watch(() => (site.isReady('alpha-net-1') ? null : 'no endpoint is ready'));
    await successor.isthmus.start(...TIMES);
    await until('the slice leads to the new Pod', () => leadsTo(successor));
    for (const { isthmus } of [old, successor]) expect(await site.ask(isthmus, alpha)).toContain('alpha');
    const waits = () => old.isthmus.log.some(({ msg }) => msg.startsWith('waiting for a signal'));
    await until('the old Pod has drained', waits);
    for (const { path, port } of old.settings.probes)
      expect(await old.probe(path, port), path).toBe(path === '/livez' ? 200 : 503);
    await expect(site.ask(old.isthmus, alpha)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    old.isthmus.signal('SIGTERM');
    expect(await old.isthmus.ended()).toBe(0);
    expect(leadsTo(successor)).toBe(true);
    expect(await site.ask(successor.isthmus, alpha)).toContain('alpha');
    expect(gone).toEqual([]);
  } finally {
    await successor.remove();
    await old.remove();
    await site.stop();
  }
});
