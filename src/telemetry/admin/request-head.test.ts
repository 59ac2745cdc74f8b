import { expect, test } from 'vitest';
import { MAX_HEAD_BYTES, requestHead } from './request-head.ts';

const read = (text: string) => requestHead(Buffer.from(text, 'latin1'));

test('a request is parsed with one entry per header line, and bytes after the head are ignored', () => {
  expect(read('GET /a?b=c HTTP/1.1\r\nHOST: x \r\nA:\r\nhost:\ty\r\n\r\n\0 GET')).toEqual({
    kind: 'request',
    method: 'GET',
    target: '/a?b=c',
    headers: [
      ['host', 'x'],
      ['a', ''],
      ['host', 'y'],
    ],
  });
  expect(read('HEAD / HTTP/1.0\r\n\r\n')).toMatchObject({ kind: 'request', method: 'HEAD', headers: [] });
});

test('every prefix of a request is incomplete', () => {
  const whole = 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n';
  for (let length = 0; length < whole.length; length += 1)
    expect(read(whole.slice(0, length))).toEqual({ kind: 'incomplete' });
  expect(read(whole)).toMatchObject({ kind: 'request' });
});

test.each([
  'GET / HTTP/1.1\r\n\r\n',
  'GET /\r\n\r\n',
  'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
  'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
  'get / HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\nHost: y\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\0\r\n\r\n',
  'GET / HTTP/1.1\r\n: x\r\n\r\n',
  '\x16\x03\x01\x02',
])('%j is invalid', (text) => {
  expect(read(text)).toMatchObject({ kind: 'invalid', status: 400 });
});

test('a head that is too long is rejected, whether it ends or not', () => {
  const long = `GET / HTTP/1.0\r\nA: ${'a'.repeat(MAX_HEAD_BYTES)}`;
  expect(read(long)).toMatchObject({ kind: 'invalid', status: 431 });
  expect(read(`${long}\r\n\r\n`)).toMatchObject({ kind: 'invalid', status: 431 });
});

test.each([
  ['that ends in a zero byte', `X:${' '.repeat(16_000)}\0`, 'invalid'],
  ['with a word behind them', `X: a${' '.repeat(16_000)}b`, 'request'],
])('a header of thousands of blanks %s is read in one pass', (_title, line, kind) => {
  const begunMs = performance.now();
  expect(requestHead(Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`)).kind).toBe(kind);
  // A regular expression that backtracks would take seconds.
  expect(performance.now() - begunMs).toBeLessThan(1000);
});
