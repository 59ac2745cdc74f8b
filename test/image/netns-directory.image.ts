// /run/netns in a Pod that starts before the node's first namespace exists: after a boot the order is not defined.
import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { PublishSite } from '../support/kubernetes/publish-site.ts';
import { makeNetns } from '../support/network/netns.ts';
import type { Runtime } from './container.ts';
import { dropNetnsMount } from './node-setup.ts';
import { Pod } from './pod.ts';
import { ourProfile } from './seccomp-profile.ts';

const NETNS = 'qdhcp-2f8e1f3c-6a63-4f5e-9a5b-0c1d2e3f4a5b';
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function podBeforeTheFirst(runtime: Runtime): Promise<Pod> {
  const site = await PublishSite.start({ withoutNetns: true });
  ends.push(() => site.management.stop());
  const pod = new Pod(site.management, { node: 'net-1', runtime, seccomp: ourProfile() });
  ends.push(() => pod.remove());
  await pod.start();
  ends.push(makeNetns({ name: NETNS }).remove);
  return pod;
}

/** The result of a write to the directory by a process in the Pod; the file is deleted again. */
async function written(pod: Pod): Promise<string> {
  const script = `const { rmSync, writeFileSync } = require('node:fs');
    try { writeFileSync('/run/netns/made-by-a-pod', ''); rmSync('/run/netns/made-by-a-pod'); console.log('written'); }
    catch ({ code }) { console.log(code); }`;
  return (await pod.container.exec('/usr/local/bin/node', '-e', script)).stdout.trim();
}

async function doctor(pod: Pod): Promise<{ result: string; found: string; fix: string | null } | undefined> {
  const { stdout } = await pod.container.exec('/usr/local/bin/isthmus', 'doctor', '--json');
  const { checks } = JSON.parse(stdout) as {
    checks: { check: string; result: string; found: string; fix: string | null }[];
  };
  return checks.find(({ check }) => check === 'netns');
}

describe.each<Runtime>(['runc', 'crun'])('the first namespace of a node after a Pod of %s', (runtime) => {
  test('is visible in the Pod, which can then write there; the doctor warns and says what to do', async () => {
    dropNetnsMount();
    const pod = await podBeforeTheFirst(runtime);
    expect(await written(pod)).toBe('written');
    expect(await doctor(pod)).toEqual({
      check: 'netns',
      result: 'warning',
      found: expect.stringMatching(/^1 network namespace .* 1 of them .* is writable here/),
      fix: expect.stringContaining('run-netns.mount'),
    });
  });

  test('changes nothing if the directory already was a separate mount: it stays read-only', async () => {
    dropNetnsMount();
    execFileSync('mount', ['--bind', '/run/netns', '/run/netns']); // as run-netns.mount does
    const pod = await podBeforeTheFirst(runtime);
    expect(await written(pod)).toBe('EROFS');
    expect(await doctor(pod)).toMatchObject({ result: 'ok' });
  });
});
