// A TCP listener during an upgrade: the successor gets its port by name, like the main port, and its slice does not change.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FAST, PublishSite } from '../../support/kubernetes/publish-site.ts';
import { ip } from '../../support/network/netns.ts';
import { NetnsServer } from '../../support/network/netns-server.ts';
import { until } from '../../support/tcp.ts';
import { ADDRESS } from '../../support/two-clusters.ts';

const MACHINE = '10.0.0.11';
const SLICE = 'kube-1-ssh-net-1';
const directory = mkdtempSync(join(tmpdir(), 'isthmus-handover-'));
let site: PublishSite;
let server: NetnsServer;

beforeAll(async () => {
  site = await PublishSite.start();
  const { netns, networkId } = site.clusters.alpha;
  site.management.addCluster({ name: 'kube-1', networkId, address: ADDRESS });
  ip('-n', netns, 'address', 'add', `${MACHINE}/32`, 'dev', 'lo');
  server = await NetnsServer.start(netns, 'name', MACHINE, '22', 'worker');
  site.management.addMachine('worker', 'kube-1', MACHINE, { role: 'worker' });
  site.management.addListener('ssh', {
    clusterName: 'kube-1',
    port: 22,
    selector: { matchLabels: { role: 'worker' } },
  });
});
afterAll(async () => {
  await server?.stop();
  await site?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** The machine that answers, or the error. */
function who(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', (chunk) => {
      resolve(String(chunk).trim());
      socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.once('close', () => resolve('closed'));
  });
}

test('an upgrade refuses no client of a TCP listener, and keeps its port and its slice', async () => {
  const flags = ['--handover', directory, '--listener-ports', '17400-17409'];
  const old = await site.instance('net-1', ...flags);
  await site.published(SLICE);
  const [{ port = 0 } = {}] = (site.slice(SLICE)?.ports ?? []) as { port?: number }[];
  const answers: string[] = [];
  let going = true;
  const visitors = Array.from({ length: 3 }, async () => {
    while (going) answers.push(await who(port));
  });
  await until('they are served', () => answers.length > 10);
  const seen = site.watch(() => site.slice(SLICE)?.metadata.resourceVersion ?? 'gone');
  const pod = site.management.instance('net-1');
  await pod.start(...FAST, ...flags);
  await until('it holds the Lease', async () => (await pod.status()).kubernetes?.lease === 'held');
  expect(await old.ended()).toBe(0);
  const served = answers.length;
  await until('they are served by the new one', () => answers.length > served + 10);
  going = false;
  await Promise.all(visitors);
  expect(new Set(answers)).toEqual(new Set(['worker']));
  expect(new Set(seen)).toHaveLength(1);
  expect(site.slice(SLICE)?.ports).toMatchObject([{ port }]);
});
