// Measures what further ways to the API servers cost at rest: probes a second in the netns of the tenants, and CPU time, without and with
// the control-plane Machines of all clusters.
import { Management } from '../../test/support/kubernetes/management.ts';
import { dialsIn } from '../../test/support/network/netns-dials.ts';
import { until } from '../../test/support/tcp.ts';
import { cpuMs } from './at-rest.ts';
import type { Row } from './row.ts';
import { Tenant } from './tenant.ts';

const SECONDS = 60;
/** All spare ways have a verdict after one interval. */
const SETTLE_MS = 90_000;

export async function probes(
  clusters: number,
  machines: number,
  say: (text: string) => void,
): Promise<readonly Row[]> {
  const tenant = new Tenant(clusters * (machines + 1));
  await tenant.open();
  const management = await Management.start({ bookmarkIntervalMs: 60_000 });
  try {
    for (let i = 1; i <= clusters; i += 1) {
      const cluster = tenant.addTo(management, i);
      for (let k = 1; k <= machines; k += 1)
        management.addMachine(
          `${cluster}-cp-${k}`,
          cluster,
          tenant.address(clusters + (i - 1) * machines + k),
          {
            'cluster.x-k8s.io/control-plane': '',
          },
        );
    }
    const measure = async (node: string, flag: 'on' | 'off', ways: number) => {
      const isthmus = management.instance(node);
      isthmus.logLevel = 'info';
      await isthmus.start('--advertise-address', '192.0.2.1', '--control-plane-machines', flag);
      const upWays = async () =>
        (await isthmus.status()).clusters.flatMap(({ backends }) => backends).filter(({ up }) => up).length;
      await until('all ways are up', async () => (await upWays()) === ways, 4 * SETTLE_MS);
      await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
      say(`at rest, Machines ${flag}, ${ways} ways, for ${SECONDS} s`);
      const [dialsBefore, cpuBefore] = [dialsIn(tenant.netns), cpuMs(isthmus.pid)];
      await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
      const perSecond = (dialsIn(tenant.netns) - dialsBefore) / SECONDS;
      const cpu = (cpuMs(isthmus.pid) - cpuBefore) / (SECONDS * 10);
      await isthmus.stop();
      return { perSecond, cpu };
    };
    const off = await measure('net-1', 'off', clusters);
    const on = await measure('net-2', 'on', clusters * (machines + 1));
    const shown = ({ perSecond, cpu }: typeof on) =>
      `${perSecond.toFixed(0)} a second, ${cpu.toFixed(2)} % CPU`;
    return [
      {
        what: `probes at rest, ${clusters} clusters, own addresses only`,
        upstream: '–',
        goal: '≤ 220 a second',
        measured: shown(off),
        met: off.perSecond <= 220,
      },
      {
        what: `the same, with ${machines} control-plane Machines each`,
        upstream: '–',
        goal: '≤ 60 more',
        measured: shown(on),
        met: on.perSecond - off.perSecond <= 60,
      },
    ];
  } finally {
    await management.stop();
    await tenant.close();
  }
}
