// Marks of real processes: alive, paused, killed, and in another network namespace.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LivenessMark } from '../../src/control/instance/liveness-mark.ts';

const SCRIPT = new URL('../../src/control/instance/liveness-mark.ts', import.meta.url).href;
const cleanups: (() => unknown)[] = [];
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'isthmus-mark-'));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function marked(holder: string, ...within: readonly string[]) {
  const script = `
    const { LivenessMark } = await import(${JSON.stringify(SCRIPT)});
    await new LivenessMark({ directory: ${JSON.stringify(directory)}, holder: ${JSON.stringify(holder)} }).open();
    console.log('open');`;
  const [command = '', ...args] = [...within, process.execPath, '--input-type=module', '-e', script];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

const own = () => new LivenessMark({ directory, holder: 'net-1/own' });

test('a process is alive while it runs or is paused, and dead as soon as it is killed', async () => {
  const child = await marked('net-1/aa');
  expect(await own().stateOf('net-1/aa')).toBe('alive');
  child.kill('SIGSTOP');
  expect(await own().stateOf('net-1/aa')).toBe('alive');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await own().stateOf('net-1/aa')).toBe('dead');
  expect(await own().stateOf('net-1/bb')).toBe('unknown');
});

test('a process in another network namespace is seen', async () => {
  const child = await marked('net-1/aa', 'unshare', '--net');
  expect(await own().stateOf('net-1/aa')).toBe('alive');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await own().stateOf('net-1/aa')).toBe('dead');
});

test('the holder removes the marks of dead processes of its instance, and no others', async () => {
  for (const holder of ['net-1/aa', 'net-2/bb']) {
    const child = await marked(holder);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await marked('net-1/cc');
  const mark = own();
  await mark.open();
  cleanups.push(() => mark.close({ forget: true }));
  await mark.sweep();
  const states = ['net-1/aa', 'net-1/cc', 'net-1/own', 'net-2/bb'].map((holder) => mark.stateOf(holder));
  expect(await Promise.all(states)).toEqual(['unknown', 'alive', 'alive', 'dead']);
});

test('the holder removes an old mark with a temporary name, and leaves a new one to the process that may still bind it', async () => {
  for (const [id, ageS] of [
    ['aa', 3600],
    ['bb', 0],
  ] as const) {
    const child = await marked(`net-1/${id}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const [name = ''] = readdirSync(directory).filter((each) => !each.endsWith('~'));
    const path = join(directory, name);
    renameSync(path, `${path}~`);
    const made = Date.now() / 1000 - ageS;
    utimesSync(`${path}~`, made, made);
  }
  expect(readdirSync(directory)).toHaveLength(2);
  await own().sweep();
  expect(readdirSync(directory)).toEqual([expect.stringMatching(/~$/)]);
});

test('a mark that is closed while it opens does not stay open', async () => {
  const mark = own();
  const opening = mark.open();
  mark.close({ forget: true });
  await opening;
  expect(await mark.stateOf('net-1/own')).toBe('unknown');
  expect(readdirSync(directory)).toEqual([]);
  const closed = own();
  closed.close({ forget: false });
  await closed.open();
  expect(readdirSync(directory)).toEqual([]);
});

test('a process that keeps its Lease leaves its mark as the proof of its end, and one that releases it does not', async () => {
  for (const [forget, state] of [
    [false, 'dead'],
    [true, 'unknown'],
  ] as const) {
    const mark = own();
    await mark.open();
    expect(await mark.stateOf('net-1/own')).toBe('alive');
    mark.close({ forget });
    expect(await mark.stateOf('net-1/own')).toBe(state);
  }
  expect(readdirSync(directory)).toEqual([]);
});

test('the longest directory that is allowed has room for a mark', async () => {
  const longest = join(directory, 'x'.repeat(80 - directory.length - 1));
  mkdirSync(longest);
  const mark = new LivenessMark({ directory: longest, holder: 'net-1/own' });
  await mark.open();
  expect(await mark.stateOf('net-1/own')).toBe('alive');
  mark.close({ forget: true });
});
