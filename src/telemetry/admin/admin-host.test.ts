import { describe, expect, test } from 'vitest';
import { adminRefusal } from './admin-host.ts';

const refusal = (
  headers: readonly (readonly [string, string])[],
  ownAddresses = ['127.0.0.1'],
  target = '/',
) => adminRefusal({ target, headers, ownAddresses })?.status ?? null;
const byHost = (host: string, ...ownAddresses: readonly string[]) =>
  refusal([['host', host]], [...ownAddresses]);

describe('a request is answered when its Host is', () => {
  test.each([
    'localhost',
    'localhost:9580',
    'localhost:1',
    'localhost:',
    'LOCALHOST:9580',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:9580',
    '127.255.3.4:80',
    '[::1]',
    '[::1]:9580',
    '[0:0:0:0:0:0:0:1]:9580',
    '[::ffff:127.0.0.1]:9580',
    '[::ffff:7f00:1]',
  ])('%s', (host) => {
    expect(byHost(host, '10.0.0.5')).toBeNull();
  });

  test.each<[host: string, own: string]>([
    ['10.0.0.5:9580', '10.0.0.5'],
    ['10.0.0.5', '::ffff:10.0.0.5'],
    ['[::ffff:10.0.0.5]', '10.0.0.5'],
    ['[2001:db8::5]:1', '2001:db8::5'],
    ['[2001:DB8:0::5]', '2001:db8::5'],
    ['[fe80::5%eth0]', 'fe80::5'],
    ['[fe80::5]', 'fe80::5%eth0'],
    ['0.0.0.0:9580', '0.0.0.0'],
    ['[::]:9580', '::'],
  ])('%s, at the address %s', (host, own) => {
    expect(byHost(host, '192.0.2.1', own)).toBeNull();
  });
});

describe('a request is refused with 421 when its Host is', () => {
  test.each([
    '',
    ':9580',
    'evil.example',
    'evil.example:9580',
    'localhost.evil.example',
    'evil.localhost',
    'localhost..',
    'localhost:80:80',
    'localhost:port',
    'localhost@evil.example',
    'evil.example@localhost',
    '127.0.0.1.evil.example',
    '127.0.0.1@evil',
    '127.0.0.1/evil',
    '127.0.0.1 evil',
    '127.0.0.1.',
    '127.1',
    '0177.0.0.1',
    '0x7f.1',
    '2130706433',
    '127.0.0.256',
    '128.0.0.1',
    '10.0.0.6',
    '0.0.0.0',
    '::1',
    '[::1',
    '[::1]evil',
    '[::2]',
    '[::]',
    '[127.0.0.1]',
    '[localhost]',
    '[::ffff:10.0.0.6]',
    'ｌocalhost',
  ])('%j', (host) => {
    expect(byHost(host, '10.0.0.5')).toBe(421);
  });
});

test('a request with no Host or with two is refused, even if both are valid', () => {
  expect(refusal([])).toBe(421);
  expect(
    refusal([
      ['host', 'localhost'],
      ['host', 'localhost'],
    ]),
  ).toBe(421);
});

test.each(['http://evil.example/status', 'http://localhost/status', 'evil.example:80', ''])(
  'a request for the target %j, which only a proxy gets, is refused',
  (target) => {
    expect(refusal([['host', 'localhost']], [], target)).toBe(421);
  },
);

test.each<[origin: string, status: number | null]>([
  ['http://localhost:8080', null],
  ['https://127.0.0.1', null],
  ['http://[::1]:9580', null],
  ['http://10.0.0.5', null],
  ['http://evil.example', 403],
  ['http://localhost.evil.example', 403],
  ['null', 403],
  ['', 403],
])('a page of %j gets %s', (origin, status) => {
  expect(
    refusal(
      [
        ['host', 'localhost'],
        ['origin', origin],
      ],
      ['10.0.0.5'],
    ),
  ).toBe(status);
});

test('the answer says which names are accepted', () => {
  expect(adminRefusal({ target: '/', headers: [['host', 'evil.example']], ownAddresses: [] })?.reason).toBe(
    'the Host header names another host: use localhost, a loopback address or the address of --admin, with any port',
  );
});
