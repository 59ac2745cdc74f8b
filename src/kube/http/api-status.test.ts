import { describe, expect, test } from 'vitest';
import type { KubeErrorCode } from '../kube-error.ts';
import { refusalError, watchError } from './api-status.ts';

const path = '/api/v1/namespaces/magnum-system/services';
const refusal = (status: number, body: unknown = '', retryAfter?: string) =>
  refusalError({ verb: 'patch', path, status, body, retryAfter });

describe('a rejected request', () => {
  test.each<[status: number, reason: string | null, code: KubeErrorCode]>([
    [400, 'BadRequest', 'invalid'],
    [401, 'Unauthorized', 'unauthorized'],
    [403, 'Forbidden', 'forbidden'],
    [404, 'NotFound', 'not-found'],
    [404, null, 'not-found'],
    [405, 'MethodNotAllowed', 'invalid'],
    [408, null, 'timeout'],
    [409, 'Conflict', 'conflict'],
    [409, 'AlreadyExists', 'already-exists'],
    [410, 'Expired', 'gone'],
    [400, 'Expired', 'gone'],
    [415, 'UnsupportedMediaType', 'invalid'],
    [422, 'Invalid', 'invalid'],
    [429, 'TooManyRequests', 'too-many-requests'],
    [500, 'InternalError', 'server-error'],
    [503, null, 'server-error'],
    [504, 'Timeout', 'timeout'],
    [302, null, 'bad-answer'],
  ])('%s %s is %s', (status, reason, code) => {
    expect(refusal(status, reason === null ? 'text' : { reason })).toMatchObject({
      code,
      status,
      reason,
    });
  });

  test('names the user, the verb, the resource and the namespace', () => {
    const error = refusal(403, { reason: 'Forbidden', message: 'User "x" cannot patch resource "services"' });
    expect(error.message).toBe(
      'forbidden: cannot patch services in magnum-system: HTTP 403 Forbidden: User "x" cannot patch resource "services"',
    );
  });

  test('stays on one short line for any text of the server', () => {
    const { message } = refusal(500, { message: `a\nb\u2028c\u0000${'x'.repeat(5000)}` });
    expect(message).toContain('a b c ');
    expect(message.length).toBeLessThan(450);
    expect(message).not.toMatch(/\n/);
  });

  test.each<[header: string | undefined, body: unknown, ms: number | null]>([
    ['7', {}, 7000],
    [' 7 ', {}, 7000],
    ['999999', {}, 120_000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', {}, null],
    ['-1', {}, null],
    [undefined, { details: { retryAfterSeconds: 3 } }, 3000],
    [undefined, { details: { retryAfterSeconds: -3 } }, 0],
    [undefined, { details: 'none' }, null],
    ['2', { details: { retryAfterSeconds: 3 } }, 2000],
  ])('with Retry-After %s and %j asks for %s ms', (header, body, ms) => {
    expect(refusal(429, body, header).retryAfterMs).toBe(ms);
  });

  test('of a Secret never repeats the message of the server, which quotes the data', () => {
    const facts = {
      verb: 'patch',
      path: '/api/v1/namespaces/a/secrets/s',
      body: { reason: 'Invalid', message: 'data: czNjcmV0' },
    };
    expect(refusalError({ ...facts, status: 422 }).message).toBe(
      'invalid: cannot patch secrets "s" in a: HTTP 422 Invalid',
    );
  });

  test.each([null, [], 'text', 5, {}, { code: 'x' }])(
    'with the body %j in a watch has the code server-error',
    (object) => {
      expect(watchError(path, object)).toMatchObject({ code: 'server-error', verb: 'watch' });
    },
  );

  test('of an expired watch has the code gone', () => {
    expect(watchError(path, { kind: 'Status', code: 410, reason: 'Expired' }).code).toBe('gone');
  });
});
