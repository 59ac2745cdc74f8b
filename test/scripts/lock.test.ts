// Two concurrent npm commands in one clone: one prepares it, and the other waits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/tcp.ts';

const module = fileURLToPath(new URL('../../scripts/setup/lock.mjs', import.meta.url));
let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'isthmus-test-lock-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** A process that holds the lock until its input ends, and reports when it acquires and releases the lock. */
function holder(out: string[], name: string) {
  const script = `import { withLock } from ${JSON.stringify(module)};
    await withLock(${JSON.stringify(join(parent, 'lock'))}, async () => {
      console.log('has'); for await (const _ of process.stdin); console.log('goes'); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  child.stdout.on('data', (chunk: Buffer) => {
    for (const word of chunk.toString().trim().split('\n')) out.push(`${name} ${word}`);
  });
  const closed = once(child, 'close');
  const held = {
    said: '',
    letGo: async () => {
      child.stdin.end();
      await closed;
    },
  };
  child.stderr.on('data', (chunk: Buffer) => {
    held.said += chunk.toString();
  });
  return held;
}

test('the lock has one holder at a time, and the other process says what it waits for', async () => {
  const order: string[] = [];
  const first = holder(order, 'first');
  await until('the first has it', () => order.length > 0);
  const second = holder(order, 'second');
  await until('the second waits', () =>
    second.said.includes('waiting for another npm command in this clone'),
  );
  await first.letGo();
  await second.letGo();
  expect(order).toEqual(['first has', 'first goes', 'second has', 'second goes']);
  expect(existsSync(join(parent, 'lock'))).toBe(false);
});

test('the lock is taken over from a process that died', async () => {
  mkdirSync(join(parent, 'lock'));
  writeFileSync(join(parent, 'lock', 'pid'), '4194304'); // larger than the largest possible pid
  const order: string[] = [];
  await holder(order, 'next').letGo();
  expect(order).toEqual(['next has', 'next goes']);
});
