import { expect, test } from 'vitest';
import { readyPage } from './ready-page.ts';

const check = (name: string, failure: string | null = null) => ({ name, failure });
const LISTENER = check('listener');

test('every check is listed by name, in the form of Kubernetes', () => {
  const checks = [LISTENER, check('leases', 'GET /apis/…: 403\nforbidden'), check('shutdown')];
  expect(readyPage(checks, true)).toMatchObject({
    status: 503,
    body: '[+]listener ok\n[-]leases failed: GET /apis/…: 403 forbidden\n[+]shutdown ok\nreadyz check failed\n',
  });
  expect(readyPage([LISTENER], true)).toMatchObject({
    status: 200,
    body: '[+]listener ok\nreadyz check passed\n',
  });
});

test.each<[title: string, checks: ReturnType<typeof check>[], status: number, body: string]>([
  ['all passed', [LISTENER], 200, 'ok'],
  [
    'two failed',
    [check('listener', 'not open yet'), check('leases', 'not listed yet')],
    503,
    'not ready: listener: not open yet; leases: not listed yet',
  ],
  [
    'a process that stops',
    [check('leases', 'not listed yet'), check('shutdown', 'draining'), check('handover', 'x')],
    503,
    'not ready: draining',
  ],
  [
    'a successor that starts',
    [LISTENER, check('handover', 'the successor, version 1, is starting')],
    503,
    'not ready: the successor, version 1, is starting',
  ],
])('without verbose the answer is one line: %s', (_title, checks, status, body) => {
  expect(readyPage(checks, false)).toMatchObject({ status, body: `${body}\n` });
});
