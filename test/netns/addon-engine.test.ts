// The engine without Node, driven by the programs of native/test. The fault walk makes every system call fail once in every possible way.
// Its reached cells are compared with the table in native/engine/connection.h. `npm run test:sanitize` runs the same with ASan and UBSan,
// and stresses threads under TSan.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  buildPrograms,
  type Program,
  sanitizerOptions,
  type Variant,
  withoutPreload,
} from '../support/native-program.ts';
import { inNetns, makeNetns } from '../support/network/netns.ts';
import { root, sanitized } from './addon-process.ts';

const execute = promisify(execFile);
/** Generous bounds for a busy machine: both take less than a minute here. */
const [COMPILE_MS, PLAY_MS] = [900_000, 600_000];

beforeAll(async () => {
  for (const variant of sanitized ? (['asan', 'tsan'] as const) : (['plain'] as const))
    await buildPrograms(variant);
}, COMPILE_MS);

/** Runs in its own netns, because another run must not reuse a port that this run has closed. */
async function play(variant: Variant, program: Program, ...args: string[]): Promise<string> {
  const path = (await buildPrograms(variant))[program];
  const netns = makeNetns();
  try {
    const [command, rest] = inNetns(netns.name, path, ...args);
    const env = { ...withoutPreload(), ...sanitizerOptions };
    const { stdout } = await execute(command, rest, { env, maxBuffer: 1 << 24, timeout: PLAY_MS });
    return stdout;
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')}: ${stdout ?? message}\n${stderr ?? ''}`);
  } finally {
    netns.remove();
  }
}

/** The cells of the table in connection.h: `State × event`, with their text. */
function table(): Map<string, string> {
  const source = readFileSync(join(root, 'native/engine/connection.h'), 'utf8');
  const rows = source
    .split('\n')
    .filter((line) => line.startsWith('// |'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const [head, , ...states] = rows;
  return new Map(
    states.flatMap(([state, ...cells]) =>
      cells.map((cell, index) => [`${state} × ${head![index + 1]}`, cell] as const),
    ),
  );
}

function reached(output: string): string[] {
  return [...output.matchAll(/^reached (.*)$/gm)].map((match) => match[1]!).sort();
}

const cells = table();
const possible = [...cells]
  .filter(([, what]) => what !== '–')
  .map(([cell]) => cell)
  .sort();

describe.runIf(!sanitized)('fault walk', () => {
  test('every possible cell of the table in connection.h is reached, and no impossible one', {
    timeout: PLAY_MS,
  }, async () => {
    expect(cells.size).toBe(63);
    const output = await play('plain', 'engine_faults', 'plain');
    expect(output).toMatch(/, 0 failures\n$/);
    expect(reached(output)).toEqual(possible);
  });

  test('every system call fails once in every way, and no connection is lost, leaked or stuck', {
    timeout: PLAY_MS,
  }, async () => {
    const shares = 24;
    const outputs = await Promise.all(
      Array.from({ length: shares }, (_, share) =>
        play('plain', 'engine_faults', 'walk', `${share}`, `${shares}`),
      ),
    );
    let faults = 0;
    for (const output of outputs) {
      const [, happened, failures] = /(\d+) faults, (\d+) failures\n$/.exec(output)!;
      expect(failures).toBe('0');
      faults += Number(happened);
    }
    expect(faults).toBeGreaterThan(3000);
    expect(reached(outputs.join('')).filter((cell) => !possible.includes(cell))).toEqual([]);
  });
});

describe.runIf(!sanitized)('balancing', () => {
  test('workers that choose at the same time never give a member a second connection too early', async () => {
    expect(await play('plain', 'pool_race')).toMatch(/\n0 uneven rounds\n$/);
  });
});

describe.runIf(sanitized)('sanitizers', () => {
  test('ASan and UBSan find no error in every state, every event, the traps of the prototype, and whole connections with faults', {
    timeout: PLAY_MS,
  }, async () => {
    const shares = 6;
    await Promise.all([
      play('asan', 'engine_faults', 'plain'),
      ...Array.from({ length: shares }, (_, share) =>
        play('asan', 'engine_faults', 'lifetimes', `${share}`, `${shares}`),
      ),
    ]);
  });

  test('ASan and UBSan find no error under stress', { timeout: PLAY_MS }, async () => {
    expect(await play('asan', 'engine_stress', '4000')).toMatch(/, 0 left\n$/);
  });

  test('TSan finds no error under stress and in every scenario', { timeout: PLAY_MS }, async () => {
    expect(await play('tsan', 'engine_stress', '12000')).toMatch(/, 0 left\n$/);
    expect(await play('tsan', 'engine_faults', 'plain')).toMatch(/, 0 failures\n$/);
    expect(await play('tsan', 'pool_race')).toMatch(/\n0 uneven rounds\n$/);
  });
});
