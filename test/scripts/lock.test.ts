// Two npm commands at once in one clone: one sets it up, the other waits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const module = fileURLToPath(new URL('../../scripts/lock.mjs', import.meta.url));
let parent: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'isthmus-test-lock-'));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** A process that holds the lock for a while and says when it has it and when it lets go. */
async function hold(milliseconds: number, out: string[], name: string): Promise<string> {
  const script = `import { withLock } from ${JSON.stringify(module)};
    await withLock(${JSON.stringify(join(parent, 'lock'))}, async () => {
      console.log('has'); await new Promise((resolve) => setTimeout(resolve, ${milliseconds})); console.log('goes'); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  child.stdout.on('data', (chunk: Buffer) => {
    for (const word of chunk.toString().trim().split('\n')) out.push(`${name} ${word}`);
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await once(child, 'close');
  return said;
}

it('is held by one at a time, and the other says what it waits for', async () => {
  const order: string[] = [];
  const first = hold(800, order, 'first');
  while (order.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const said = await hold(0, order, 'second');
  await first;
  expect(order).toEqual(['first has', 'first goes', 'second has', 'second goes']);
  expect(said).toContain('waiting for another npm command in this clone');
  expect(existsSync(join(parent, 'lock'))).toBe(false);
});

it('is taken over from a process that died', async () => {
  mkdirSync(join(parent, 'lock'));
  writeFileSync(join(parent, 'lock', 'pid'), '4194304'); // beyond the largest pid there is
  const order: string[] = [];
  await hold(0, order, 'next');
  expect(order).toEqual(['next has', 'next goes']);
});
