import { expect, test } from 'vitest';
import type { ListenerStatus } from '../../control/desired/listener-status.ts';
import type { Logger } from './logger.ts';
import { LISTENERS, StatusLog } from './status-log.ts';

const listener = (parts: Partial<ListenerStatus> = {}): ListenerStatus => ({
  ...{ name: 'ssh', namespace: 'ns', cluster: 'kube', protocol: 'TCP', port: 22, targetPort: 22 },
  ...{ service: 'kube-ssh', listenPort: 17000, serverNames: [], state: 'serving', reason: 'one is ready' },
  detail: null,
  members: [],
  ...parts,
});

function lines(...turns: readonly (readonly ListenerStatus[])[]): string[] {
  const written: string[] = [];
  const at = (level: string) => (facts: Record<string, unknown>, message: string) =>
    written.push(`${level}: ${message} (${facts.was ?? '-'} to ${facts.state ?? '-'})`);
  const log = new StatusLog({ info: at('info'), warn: at('warn') } as unknown as Logger, LISTENERS);
  for (const turn of turns) log.write(turn);
  return written;
}

test('each change of state is one line, and an unchanged state is none', () => {
  expect(
    lines(
      [listener({ state: 'pending', reason: 'no port yet', listenPort: null })],
      [listener()],
      [listener({ reason: 'two are ready' })],
      [listener({ state: 'unhealthy', reason: 'none is' })],
      [listener({ state: 'unhealthy', reason: 'none is' })],
      [listener({ state: 'unhealthy', reason: 'none is, still' })],
      [],
    ),
  ).toEqual([
    'info: listener found (- to pending)',
    'info: listener changed (pending to serving)',
    'warn: listener changed (serving to unhealthy)',
    'info: listener changed (unhealthy to unhealthy)',
    'info: listener gone (unhealthy to -)',
  ]);
});

test('a changed port is logged, and an invalid listener is a warning', () => {
  expect(lines([listener()], [listener({ listenPort: 17001 })])).toHaveLength(2);
  expect(lines([listener({ state: 'invalid' })])).toEqual(['warn: listener found (- to invalid)']);
});

test.each(['invalid', 'pending', 'unhealthy', 'no-members'] as const)(
  'a change in the member counts of a listener that is %s is not logged',
  (state) => {
    const turns = ['2 of 2 machines answer', '1 of 2 machines answers', null];
    expect(lines(...turns.map((detail) => [listener({ state, detail })]))).toHaveLength(1);
  },
);
