// When a service that is not ready reports to systemd: the start of its unit also ends if the Kubernetes API is unreachable.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Served, Service } from '../../src/lifecycle/service.ts';
import { native } from '../../src/netns/native.ts';
import { NotifyReceiver } from '../support/notify-receiver.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function service(readyLimitMs: number) {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-notify-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const notify = await NotifyReceiver.start(join(directory, 'notify.sock'));
  cleanups.push(() => notify.stop());
  const log: string[] = [];
  const running = await Service.open({
    ...{
      addon: native,
      directory: null,
      version: '1',
      processId: 'a1',
      pid: process.pid,
      uid: process.getuid?.() ?? 0,
      daemonSet: null,
      takeOver: false,
    },
    environment: { NOTIFY_SOCKET: notify.address },
    log: (_level, facts, message) => log.push(`${message}: ${facts.reason}`),
    readyLimitMs,
  });
  const able = Promise.withResolvers<void>();
  const state: { notReadyBecause: string | null } = { notReadyBecause: 'leases: not listed yet' };
  const served: Served = {
    ready: able.promise,
    sockets: () => [],
    release: async () => {},
    summary: () => ({ listen: '*:6443', states: new Map(), staleSince: null, ...state }),
    isWell: () => true,
    successorStarts: () => {},
  };
  await running.serving(served);
  cleanups.push(() => running.stopping(0));
  return { notify, log, able, state, running };
}

test('a service that is not able in time reports readiness, with the reason in its status line and in the log', async () => {
  const { notify, log, able, state } = await service(200);
  const ready = await notify.until('ready', ({ fields }) => fields.READY === '1');
  expect(ready.fields.STATUS).toBe('not ready: leases: not listed yet');
  expect(log).toEqual([
    'start limit reached: reporting readiness before the instance is ready: leases: not listed yet',
  ]);
  state.notReadyBecause = null;
  able.resolve();
  await notify.until('serving', ({ fields }) => fields.STATUS === 'serving 0 clusters at *:6443');
});

test('a service that is stopped before it is able reports the stop and no readiness', async () => {
  const { notify, able, running } = await service(60_000);
  running.stopping(1000);
  able.resolve();
  await notify.until('stopping', ({ fields }) => fields.STOPPING === '1');
  await new Promise((resolve) => setImmediate(resolve));
  expect(notify.all.filter(({ fields }) => fields.READY !== undefined)).toEqual([]);
});
