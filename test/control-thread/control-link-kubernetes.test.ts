// The messages of the control thread about Kubernetes, as the main thread's link passes them on. A script replaces the control thread.
import { afterEach, expect, test } from 'vitest';
import type { RunConfig } from '../../src/cli/config/config.ts';
import { ControlLink } from '../../src/control-thread/control-link.ts';
import { WAIT_MS, within } from '../support/tcp.ts';

const HANDLERS = { onPublished: () => {}, onHealthChanged: () => {}, onTurns: () => {} };
let link: ControlLink | null = null;
afterEach(() => link?.stop());

/** `answers`: the code to run for each kind of message; `port` is in its scope. */
function linked(answers: Readonly<Record<string, string>>, withdrawalDeadlineMs?: number): ControlLink {
  const cases = Object.entries(answers).map(([kind, code]) => `${JSON.stringify(kind)}: () => { ${code} }`);
  const script = `import { parentPort as port } from 'node:worker_threads';
const answers = { stop: () => port.close(), ${cases.join(', ')} };
port.on('message', ({ kind }) => answers[kind]?.());`;
  link = new ControlLink({
    config: { propagationWaitMs: 0 } as RunConfig,
    log: () => {},
    script: new URL(`data:text/javascript,${encodeURIComponent(script)}`),
    ...(withdrawalDeadlineMs === undefined ? {} : { withdrawalDeadlineMs }),
  });
  return link;
}

test('a withdrawal ends when the control thread reports it', async () => {
  const asked = linked({ withdraw: `port.postMessage({ kind: 'withdrawn' });` });
  await within(WAIT_MS, 'the withdrawal', asked.withdraw());
});

test('a withdrawal ends even if the control thread is stuck or has exited', async () => {
  const stuck = linked({ withdraw: '' }, 50);
  await within(WAIT_MS, 'the deadline', stuck.withdraw());
  await stuck.stop();
  await within(WAIT_MS, 'nothing', stuck.withdraw());
});

test('the link names the process that superseded this one', async () => {
  const lost = linked({ start: `port.postMessage({ kind: 'superseded', holder: 'net-1/b' });` });
  void lost.start(HANDLERS);
  expect(await within(WAIT_MS, 'the successor', lost.superseded)).toBe('net-1/b');
});

test('a control thread that cannot start ends the start, with an error that an operator can fix', async () => {
  const refused = linked({
    start: `port.postMessage({ kind: 'refused', reason: 'no kubeconfig' }); port.close();`,
  });
  await within(WAIT_MS, 'the end of the start', refused.start(HANDLERS));
  await expect(within(WAIT_MS, 'the refusal', refused.failed)).rejects.toMatchObject({
    code: 'EKUBECONFIG',
    message: 'no kubeconfig',
  });
});

test('the Kubernetes status is the one in the last heartbeat', async () => {
  const status = { instance: 'net-1', lease: 'held' };
  const well = linked({
    beat: `port.postMessage({ kind: 'beat', turnsMs: [], kubernetes: ${JSON.stringify(status)} });`,
    start: `port.postMessage({ kind: 'started' });`,
  });
  expect(well.kubernetes).toBeNull();
  await well.start(HANDLERS);
  await expect.poll(() => well.kubernetes).toEqual(status);
});
