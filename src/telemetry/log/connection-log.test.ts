import { beforeEach, describe, expect, test } from 'vitest';
import { servedRecord } from '../../../test/support/connection-records.ts';
import type { ConnectionRecord } from '../../proxy/connection-record.ts';
import { ConnectionLog } from './connection-log.ts';
import type { Logger } from './logger.ts';

const RECORD = servedRecord();
const WARNING: ConnectionRecord = {
  ...RECORD,
  level: 'warn',
  backend: null,
  outcome: 'alert-sent',
  reason: 'no-healthy-backend',
};

interface Line {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

let lines: Line[];
let nowMs: number;
let off: string;
let log: ConnectionLog;
beforeEach(() => {
  lines = [];
  nowMs = 1000;
  off = 'none';
  const at = (level: string) => (fields: Record<string, unknown>, message: string) =>
    lines.push({ level, fields, message });
  const logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    isLevelEnabled: (level: string) => level !== off,
  } as unknown as Logger;
  log = new ConnectionLog(logger, () => nowMs);
});

const write = (record: ConnectionRecord) => log.write({ ...record, record: () => record });
const writeMany = (count: number, record = WARNING) => {
  for (let i = 0; i < count; i += 1) write(record);
};

test.each(['debug', 'info', 'warn', 'error'] as const)(
  'a record of level %s is one log line of that level, with all other fields',
  (level) => {
    write({ ...RECORD, level });
    const { level: _, ...fields } = RECORD;
    expect(lines).toEqual([{ level, fields, message: 'connection ended' }]);
  },
);

test('no record is built for a disabled level', () => {
  off = 'info';
  log.write({
    ...RECORD,
    record: () => {
      throw new Error('asked for');
    },
  });
  expect(lines).toEqual([]);
});

test.each<[message: string, parts: Partial<ConnectionRecord>]>([
  ['connection ended', {}],
  ['connection ended', { outcome: 'backend-reset' }],
  ['connection refused', { backend: null, outcome: 'alert-sent' }],
  ['connection refused', { backend: null, outcome: 'closed' }],
  ['connection refused', { backend: null, outcome: 'refused-connections' }],
  ['connection refused', { backend: null, outcome: 'refused-dials' }],
  ['connection failed', { backend: null, outcome: 'dial-failed' }],
  ['connection failed', { backend: null, outcome: 'hello-timeout' }],
  ['connection failed', { backend: null, outcome: 'policy-error' }],
])('"%s" is the message for %o', (message, parts) => {
  write({ ...RECORD, ...parts });
  expect(lines.map((line) => line.message)).toEqual([message]);
});

describe('warnings', () => {
  test('are limited to five in ten seconds, and the next one counts those left out', () => {
    writeMany(12);
    expect(lines).toHaveLength(5);
    nowMs += 9999;
    writeMany(1);
    expect(lines).toHaveLength(5);
    nowMs += 1;
    writeMany(1);
    expect(lines).toHaveLength(6);
    expect(lines.map(({ fields }) => fields.suppressed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      8,
    ]);
  });

  test('after a window without suppressed warnings have no count', () => {
    writeMany(5);
    nowMs += 10_000;
    writeMany(1);
    expect(lines.map(({ fields }) => 'suppressed' in fields)).toEqual(new Array(6).fill(false));
  });

  test('report the number of suppressed warnings once', () => {
    writeMany(6);
    nowMs += 10_000;
    writeMany(2);
    nowMs += 10_000;
    writeMany(1);
    expect(lines.map(({ fields }) => fields.suppressed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      1,
      undefined,
      undefined,
    ]);
  });

  test('a new window lets five through again', () => {
    writeMany(100);
    nowMs += 10_000;
    writeMany(100);
    expect(lines).toHaveLength(10);
  });

  test.each<[title: string, other: Partial<ConnectionRecord>]>([
    ['of another reason', { reason: 'cluster-connections' }],
    ['of another cluster', { cluster: 'other' }],
    ['of no cluster', { cluster: null }],
  ])('%s are limited separately', (_title, other) => {
    writeMany(10);
    writeMany(10, { ...WARNING, ...other });
    expect(lines).toHaveLength(10);
  });

  test('do not count against other levels', () => {
    writeMany(10);
    writeMany(10, { ...RECORD, level: 'info', reason: WARNING.reason });
    writeMany(10, { ...RECORD, level: 'error' });
    expect(lines.map(({ level }) => level)).toEqual([
      ...Array(5).fill('warn'),
      ...Array(10).fill('info'),
      ...Array(10).fill('error'),
    ]);
  });

  test('of more reasons and clusters than the log keeps are still all written, and a cleared map only adds a few lines', () => {
    writeMany(10, { ...WARNING, cluster: 'first' });
    lines.length = 0;
    for (let i = 0; i < 4095; i += 1) write({ ...WARNING, cluster: `c${i}` });
    writeMany(1, { ...WARNING, cluster: 'first' });
    expect(lines).toHaveLength(4095);
    write({ ...WARNING, cluster: 'one too many' });
    writeMany(1, { ...WARNING, cluster: 'first' });
    expect(lines).toHaveLength(4097);
  });
});
