// The configuration of magnum-cluster-api-proxy on a host without a kubelet: PROXY_BIND has one address, and no variable names the address
// to publish. The slices must lead to the address at which the listener accepts.
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Isthmus, mainScript } from '../../support/isthmus.ts';
import { FAST_TIMES, PublishSite } from '../../support/kubernetes/publish-site.ts';

/** One of RFC 5737 that no other test uses. */
const ADDRESS = '203.0.113.77';

let site: PublishSite;
let isthmus: Isthmus;

beforeAll(async () => {
  execFileSync('ip', ['address', 'replace', `${ADDRESS}/32`, 'dev', 'lo']);
  site = await PublishSite.start();
  isthmus = site.management.instance('net-1');
  isthmus.listen = null;
  isthmus.host = ADDRESS;
  Object.assign(isthmus.environment, { PROXY_BIND: ADDRESS, PROXY_PORT: '0' });
  site.add(site.clusters.alpha);
  await isthmus.start(...FAST_TIMES);
});
afterAll(async () => {
  await isthmus.stop();
  await site.stop();
  execFileSync('ip', ['address', 'del', `${ADDRESS}/32`, 'dev', 'lo']);
});

test('the slice has the address of PROXY_BIND, a client is served there, and no warning is logged', async () => {
  await site.published('alpha-net-1');
  expect(site.slice('alpha-net-1')).toMatchObject({
    endpoints: [{ addresses: [ADDRESS] }],
    ports: [{ port: isthmus.port }],
  });
  expect(await site.ask(isthmus, site.clusters.alpha)).toContain('alpha');
  expect(isthmus.log.filter(({ msg }) => msg.startsWith('clients connect to'))).toEqual([]);
});

test('isthmus doctor says where the address comes from', async () => {
  const env = { ...process.env, ...isthmus.environment };
  const args = [mainScript, 'doctor', '--admin', `127.0.0.1:${isthmus.adminPort}`];
  const asked = promisify(execFile)(process.execPath, args, { timeout: 120_000, env });
  const { stdout } = await asked.catch((error: { stdout: string }) => error);
  expect(stdout).toMatch(
    /^ok +address +clients connect to 203\.0\.113\.77 \(from --listen or PROXY_BIND\)$/m,
  );
});
