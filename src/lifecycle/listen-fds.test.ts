import { expect, test } from 'vitest';
import { listenFds } from './inherited-sockets.ts';

const PID = 42;
type Rows = [title: string, environment: Record<string, string>, found: [name: string, fd: number][]][];
const rows: Rows = [
  ['no variables mean no sockets', {}, []],
  ['sockets for another process are ignored', { LISTEN_PID: '41', LISTEN_FDS: '1' }, []],
  [
    'without names, the first socket is for clients',
    { LISTEN_PID: '42', LISTEN_FDS: '2' },
    [
      ['tls', 3],
      ['', 4],
    ],
  ],
  [
    'a socket with the name of its unit is for clients',
    { LISTEN_PID: '42', LISTEN_FDS: '1', LISTEN_FDNAMES: 'isthmus.socket' },
    [['tls', 3]],
  ],
  [
    'known names are found in any order',
    { LISTEN_PID: '42', LISTEN_FDS: '3', LISTEN_FDNAMES: 'admin:tls:listener:x' },
    [
      ['admin', 3],
      ['tls', 4],
      ['listener', 5],
    ],
  ],
  [
    'the first socket without another purpose is for clients',
    { LISTEN_PID: '42', LISTEN_FDS: '3', LISTEN_FDNAMES: 'health:main:admin' },
    [
      ['health', 3],
      ['tls', 4],
      ['admin', 5],
    ],
  ],
  ['a count that is not a number is ignored', { LISTEN_PID: '42', LISTEN_FDS: 'many' }, []],
  ['a count below one is ignored', { LISTEN_PID: '42', LISTEN_FDS: '-1' }, []],
  ['a count above the bound is ignored', { LISTEN_PID: '42', LISTEN_FDS: '1000000' }, []],
];

test.each(rows)('%s', (_title, environment, found) => {
  expect(listenFds(environment, PID)).toEqual(found.map(([name, fd]) => ({ name, fd })));
});
