// The file source on real directories, with the changes that people and programs make.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Problem } from '../../../src/control/objects/problem.ts';
import { keyOf, originOf } from '../../../src/control/sources/cluster-reading.ts';
import { FileSource, type FileSourceOptions } from '../../../src/control/sources/file-source.ts';
import { problemChanges } from '../../../src/telemetry/log/desired-log.ts';

const NETWORK = '8d5d8f0c-1f0e-4a0e-9d53-1c1a2f0b7e66';

const manifest = (name: string, address = '10.0.0.5') => `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata:
  name: ${name}
  namespace: magnum-system
  labels:
    cluster.x-k8s.io/cluster-name: ${name}
spec:
  disableAPIServerFloatingIP: true
status:
  network:
    id: ${NETWORK}
  apiServerLoadBalancer:
    internalIP: ${address}
`;

let parent: string;
let directory: string;
let sources: FileSource[];

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'isthmus-file-source-'));
  directory = join(parent, 'clusters');
  mkdirSync(directory);
  sources = [];
});
afterEach(async () => {
  for (const source of sources) await source.stop();
  rmSync(parent, { recursive: true, force: true });
});

const write = (name: string, text: string | Buffer) => writeFileSync(join(directory, name), text);

async function started(options: Partial<FileSourceOptions> = {}) {
  const seen = { changes: 0, problems: [] as Problem[], recovered: [] as string[] };
  const source = new FileSource({
    directory,
    settings: { proxyAlways: false },
    // Events alone must suffice, unless a test covers the interval.
    intervalMs: 3_600_000,
    debounceMs: 20,
    ...options,
  });
  sources.push(source);
  let last: readonly Problem[] = [];
  const look = () => {
    const { appeared, recovered } = problemChanges(last, source.snapshot().problems);
    last = source.snapshot().problems;
    seen.problems.push(...appeared);
    seen.recovered.push(...recovered);
  };
  await source.start(() => {
    seen.changes++;
    look();
  });
  look();
  return { source, seen };
}

const keys = (source: FileSource) =>
  source.snapshot().clusters.map((reading) => keyOf(reading).slice('magnum-system/'.length));
const addressOf = (source: FileSource, index = 0) => {
  const reading = source.snapshot().clusters[index];
  return reading?.kind === 'proxied' ? reading.facts.address : reading?.kind;
};
const eventually = (check: () => void) => expect.poll(() => attempt(check), { interval: 10 }).toBeNull();
function attempt(check: () => void): unknown {
  try {
    check();
    return null;
  } catch (error) {
    return error;
  }
}

describe('a directory of manifests', () => {
  test('is read at the start: *.yaml, *.yml and *.json, no hidden files and no subdirectories', async () => {
    write('a.yaml', `${manifest('a')}---\n${manifest('b')}`);
    write('c.yml', manifest('c'));
    write('d.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
    for (const name of [
      '.hidden.yaml',
      '.#lock.yaml',
      'x.yaml~',
      '#x.yaml#',
      '~$x.yaml',
      'x.yaml.swp',
      'README.md',
    ])
      write(name, '{');
    mkdirSync(join(directory, 'below'));
    writeFileSync(join(directory, 'below', 'e.yaml'), manifest('e'));
    const { source, seen } = await started();
    expect(keys(source)).toEqual(['a', 'b', 'c']);
    expect(source.snapshot()).toMatchObject({ complete: true, problems: [] });
    expect(seen.changes).toBe(0);
  });

  test('is followed when a file is added, changed, replaced by a rename, or deleted', async () => {
    const { source, seen } = await started();
    expect(source.snapshot()).toEqual({ complete: true, clusters: [], problems: [] });
    write('a.yaml', manifest('a', '10.0.0.1'));
    await eventually(() => expect(addressOf(source)).toBe('10.0.0.1'));
    write('a.yaml', manifest('a', '10.0.0.2'));
    await eventually(() => expect(addressOf(source)).toBe('10.0.0.2'));
    write('.a.yaml.tmp', manifest('a', '10.0.0.3'));
    renameSync(join(directory, '.a.yaml.tmp'), join(directory, 'a.yaml'));
    await eventually(() => expect(addressOf(source)).toBe('10.0.0.3'));
    unlinkSync(join(directory, 'a.yaml'));
    await eventually(() => expect(keys(source)).toEqual([]));
    expect(seen.changes).toBeGreaterThanOrEqual(4);
    expect(source.snapshot().complete).toBe(true);
  });

  test('is not parsed again while it is unchanged', async () => {
    write('a.yaml', manifest('a'));
    utimesSync(join(directory, 'a.yaml'), 1, 1);
    const { source } = await started();
    const [a] = source.snapshot().clusters;
    write('b.yaml', manifest('b'));
    await eventually(() => expect(keys(source)).toEqual(['a', 'b']));
    expect(source.snapshot().clusters[0]).toBe(a);
  });

  test('that stays the same reports no change at any scan', async () => {
    write('a.yaml', manifest('a'));
    write('bad.yaml', 'a: [');
    const { source, seen } = await started();
    const snapshot = source.snapshot();
    for (let scan = 0; scan < 20; scan += 1) await source.rescan();
    expect(source.snapshot()).toBe(snapshot);
    expect(seen.changes).toBe(0);
    expect(seen.problems).toHaveLength(1);
  });

  test('that changes without a pause is still read', async () => {
    const { source } = await started({ debounceMs: 400 });
    write('a.yaml', manifest('a'));
    const noise = setInterval(() => write('noise.txt', `${Math.random()}`), 20);
    try {
      await eventually(() => expect(keys(source)).toEqual(['a']));
    } finally {
      clearInterval(noise);
    }
  });
});

describe('a bad file', () => {
  test('is reported with line and column, keeps its last valid content, and affects no other file', async () => {
    write('a.yaml', `${manifest('a1')}---\n${manifest('a2')}`);
    write('b.yaml', manifest('b'));
    const { source, seen } = await started();
    write('a.yaml', `${manifest('a1')}---\nkind: [\n`);
    await eventually(() => expect(source.snapshot().problems).toHaveLength(1));
    const problem = {
      origin: 'a.yaml document 2',
      reason: expect.stringMatching(
        /^not YAML at line 17, column 1: .*; its last valid content stays in use$/,
      ),
    };
    expect(source.snapshot()).toMatchObject({ complete: false, problems: [problem] });
    expect(keys(source)).toEqual(['a1', 'a2', 'b']);

    // Other files can still be added, changed and deleted.
    write('b.yaml', manifest('b', '10.0.0.9'));
    write('c.yaml', manifest('c'));
    await eventually(() => {
      expect(keys(source)).toEqual(['a1', 'a2', 'b', 'c']);
      expect(addressOf(source, 2)).toBe('10.0.0.9');
    });
    unlinkSync(join(directory, 'c.yaml'));
    await eventually(() => expect(keys(source)).toEqual(['a1', 'a2', 'b']));

    write('a.yaml', manifest('a2'));
    await eventually(() => expect(keys(source)).toEqual(['a2', 'b']));
    expect(source.snapshot()).toMatchObject({ complete: true, problems: [] });
    expect(seen.problems).toEqual([problem]);
    expect(seen.recovered).toEqual(['a.yaml document 2']);
  });

  test('loses its last clusters when it is deleted', async () => {
    write('a.yaml', manifest('a'));
    const { source } = await started();
    write('a.yaml', '{');
    await eventually(() => expect(source.snapshot().complete).toBe(false));
    expect(keys(source)).toEqual(['a']);
    unlinkSync(join(directory, 'a.yaml'));
    await eventually(() => expect(source.snapshot()).toEqual({ complete: true, clusters: [], problems: [] }));
  });

  test('at the start provides the documents that can be read', async () => {
    write('a.yaml', `${manifest('a1')}---\nkind: [\n---\n${manifest('a3')}`);
    write('b.json', '{"kind":');
    const { source, seen } = await started();
    expect(keys(source)).toEqual(['a1', 'a3']);
    expect(source.snapshot().complete).toBe(false);
    expect(seen.problems.map(({ origin }) => origin)).toEqual(['a.yaml document 2', 'b.json']);
  });

  test('whose only fault is one invalid object is valid, and only the object is reported', async () => {
    write(
      'a.yaml',
      `${manifest('a')}---\n${manifest('b', '127.0.0.1')}---\nkind: Secret\nmetadata:\n  name: s\n`,
    );
    const { source } = await started();
    expect(source.snapshot().clusters.map(({ kind }) => kind)).toEqual(['proxied', 'invalid']);
    expect(source.snapshot()).toMatchObject({
      complete: true,
      problems: [{ origin: 'a.yaml document 3', reason: 'kind "Secret" "s" is not supported: skipped' }],
    });
  });

  test('that is emptied, as editors do before they write, keeps its clusters', async () => {
    write('a.yaml', manifest('a'));
    const { source } = await started();
    write('a.yaml', '');
    await eventually(() => expect(source.snapshot().complete).toBe(false));
    expect(keys(source)).toEqual(['a']);
    expect(source.snapshot().problems).toEqual([
      { origin: 'a.yaml', reason: expect.stringMatching(/^the file is empty now: delete it/) },
    ]);
    write('a.yaml', manifest('b'));
    await eventually(() => expect(keys(source)).toEqual(['b']));
    expect(source.snapshot().complete).toBe(true);
  });

  test('written in small pieces never loses its cluster', async () => {
    write('a.yaml', manifest('a', '10.0.0.1'));
    const { source, seen } = await started({ debounceMs: 2000 });
    const states = new Set<string>();
    const text = manifest('a', '10.0.0.2');
    write('a.yaml', '');
    for (let at = 0; at < text.length; at += 60) {
      appendFileSync(join(directory, 'a.yaml'), text.slice(at, at + 60));
      states.add(keys(source).join());
      await sleep(5);
    }
    await eventually(() => expect(addressOf(source)).toBe('10.0.0.2'));
    expect([...states]).toEqual(['a']);
    expect(seen.problems).toEqual([]);
  });

  test('that changes without a pause, in a directory that changes too, keeps its last content, and other files are read', async () => {
    write('a.yaml', manifest('a', '10.0.0.1'));
    const { source, seen } = await started({ debounceMs: 500 });
    // This is valid YAML but not the content that the author is about to write.
    const half = manifest('a', '10.0.0.2').slice(0, 150);
    const writer = setInterval(() => write('a.yaml', half), 5);
    try {
      write('b.yaml', manifest('b'));
      await eventually(() => expect(keys(source)).toEqual(['a', 'b']));
      expect(addressOf(source)).toBe('10.0.0.1');
    } finally {
      clearInterval(writer);
    }
    write('a.yaml', manifest('a', '10.0.0.2'));
    await eventually(() => expect(addressOf(source)).toBe('10.0.0.2'));
    expect(seen.problems).toEqual([]);
  });

  test.each<[string, string, () => void, RegExp]>([
    [
      'is too large',
      'big.yaml',
      () => write('big.yaml', '#'.repeat(2000)),
      /^2000 bytes exceed the limit of 1000/,
    ],
    ['is not text', 'bytes.yaml', () => write('bytes.yaml', Buffer.from([0x61, 0xff, 0xfe])), /^not UTF-8/],
    ['is a directory', 'dir.yaml', () => mkdirSync(join(directory, 'dir.yaml')), /^not a regular file/],
    [
      'is a FIFO',
      'fifo.yaml',
      () => void execFileSync('mkfifo', [join(directory, 'fifo.yaml')]),
      /^not a regular file/,
    ],
    [
      'is a dangling link',
      'link.yaml',
      () => symlinkSync('nowhere', join(directory, 'link.yaml')),
      /^a symbolic link to a file that does not exist/,
    ],
    [
      'is a link to itself',
      'loop.yaml',
      () => symlinkSync('loop.yaml', join(directory, 'loop.yaml')),
      /ELOOP/,
    ],
  ])('that %s is a problem with its own reason', async (_title, name, make, reason) => {
    write('a.yaml', manifest('a'));
    make();
    const { source } = await started({ limits: { yamlBytes: 1000 } });
    expect(keys(source)).toEqual(['a']);
    expect(source.snapshot()).toMatchObject({
      complete: false,
      problems: [{ origin: name, reason: expect.stringMatching(reason) }],
    });
  });

  test('beyond the limit is a problem that names the first file that is not read', async () => {
    for (const name of ['a', 'b', 'c', 'd']) write(`${name}.yaml`, manifest(name));
    const { source } = await started({ limits: { files: 2 } });
    expect(keys(source)).toEqual(['a', 'b']);
    // A new file that sorts before them evicts none of them.
    write('Z.yaml', manifest('z'));
    utimesSync(join(directory, 'Z.yaml'), 1, 1); // a file that changed just now would be left to a later scan
    await source.rescan();
    expect(keys(source)).toEqual(['a', 'b']);
    unlinkSync(join(directory, 'Z.yaml'));
    await source.rescan();
    expect(source.snapshot()).toMatchObject({
      complete: false,
      problems: [{ origin: 'c.yaml', reason: expect.stringContaining('4 files exceed the limit of 2') }],
    });
  });
});

test('for one object in two files the first by file name counts, and a problem names the other', async () => {
  write('b.yaml', manifest('x', '10.0.0.2'));
  write('a.yaml', manifest('x', '10.0.0.1'));
  const { source } = await started();
  expect(addressOf(source)).toBe('10.0.0.1');
  expect(source.snapshot()).toMatchObject({
    complete: true,
    problems: [
      {
        origin: 'b.yaml',
        reason: 'magnum-system/x is in a.yaml too, and only the first by name is used: remove one of them',
      },
    ],
  });
  unlinkSync(join(directory, 'a.yaml'));
  await eventually(() => expect(addressOf(source)).toBe('10.0.0.2'));
  expect(source.snapshot().problems).toEqual([]);
});

test('a ConfigMap volume is followed through its swapped link', async () => {
  const publish = (stamp: string, files: Record<string, string>) => {
    mkdirSync(join(directory, `..${stamp}`));
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(directory, `..${stamp}`, name), text);
    symlinkSync(`..${stamp}`, join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  };
  publish('2026_08_01', { 'a.yaml': manifest('a', '10.0.0.1') });
  symlinkSync('..data/a.yaml', join(directory, 'a.yaml'));
  const { source } = await started();
  expect(keys(source)).toEqual(['a']);
  publish('2026_08_02', { 'a.yaml': manifest('a', '10.0.0.2'), 'b.yaml': manifest('b') });
  symlinkSync('..data/b.yaml', join(directory, 'b.yaml'));
  rmSync(join(directory, '..2026_08_01'), { recursive: true });
  await eventually(() => {
    expect(addressOf(source)).toBe('10.0.0.2');
    expect(keys(source)).toEqual(['a', 'b']);
  });
});

test('a change behind a link, which causes no event, is found at the interval', async () => {
  writeFileSync(join(parent, 'elsewhere'), manifest('a', '10.0.0.1'));
  symlinkSync(join(parent, 'elsewhere'), join(directory, 'a.yaml'));
  const { source } = await started({ intervalMs: 30 });
  await sleep(50);
  writeFileSync(join(parent, 'elsewhere'), manifest('a', '10.0.0.2'));
  await eventually(() => expect(addressOf(source)).toBe('10.0.0.2'));
});

describe('the directory itself', () => {
  test('keeps its last content when it is removed, and is followed again when it returns', async () => {
    write('a.yaml', manifest('a'));
    const { source, seen } = await started();
    renameSync(directory, join(parent, 'away'));
    await eventually(() => expect(source.snapshot().complete).toBe(false));
    expect(keys(source)).toEqual(['a']);
    expect(source.snapshot().problems).toEqual([
      { origin: directory, reason: expect.stringMatching(/^ENOENT.*the last valid content stays in use$/) },
    ]);
    mkdirSync(directory);
    write('b.yaml', manifest('b'));
    await eventually(() => expect(keys(source)).toEqual(['b']));
    expect(source.snapshot()).toMatchObject({ complete: true, problems: [] });
    expect(seen.recovered).toEqual([directory]);
    write('c.yaml', manifest('c'));
    await eventually(() => expect(keys(source)).toEqual(['b', 'c']));
  });

  test('keeps its last content when an empty directory replaces it, as after an unmount', async () => {
    write('a.yaml', manifest('a'));
    const { source } = await started({ intervalMs: 20 });
    mkdirSync(join(parent, 'empty'));
    renameSync(directory, join(parent, 'away'));
    renameSync(join(parent, 'empty'), directory);
    await eventually(() =>
      expect(source.snapshot().problems[0]?.reason).toMatch(
        /another directory without manifests replaced this directory/,
      ),
    );
    expect(keys(source)).toEqual(['a']);
    expect(source.snapshot().complete).toBe(false);
  });

  test('is followed when another directory with other manifests replaces it', async () => {
    write('a.yaml', manifest('a'));
    const { source } = await started();
    renameSync(directory, join(parent, 'away'));
    mkdirSync(directory);
    write('b.yaml', manifest('b'));
    await eventually(() => expect(keys(source)).toEqual(['b']));
    // This scan replaces the one that the events so far have scheduled. Only an event of the new directory starts another.
    await source.rescan();
    write('c.yaml', manifest('c'));
    await eventually(() => expect(keys(source)).toEqual(['b', 'c']));
  });

  test('is a problem while it is missing at the start, and is read as soon as it is created', async () => {
    rmSync(directory, { recursive: true });
    const { source } = await started();
    expect(source.snapshot()).toMatchObject({
      complete: false,
      clusters: [],
      problems: [{ origin: directory, reason: expect.stringContaining('ENOENT') }],
    });
    mkdirSync(directory);
    write('a.yaml', manifest('a'));
    await eventually(() => expect(keys(source)).toEqual(['a']));
    expect(source.snapshot().complete).toBe(true);
  });
});

test('a stopped source holds no descriptor, reports nothing more, and can be stopped twice', async () => {
  const descriptors = () => readdirSync('/proc/self/fd').length;
  await started().then(({ source }) => source.stop());
  const { source: witness } = await started({ debounceMs: 0, intervalMs: 1 });
  const before = descriptors();
  for (let i = 0; i < 20; i++) {
    const { source, seen } = await started({ debounceMs: 0, intervalMs: 1 });
    write('a.yaml', manifest(`a${i}`));
    await source.stop();
    await source.stop();
    const changes = seen.changes;
    write('a.yaml', manifest(`z${i}`));
    await eventually(() => expect(keys(witness)).toEqual([`z${i}`]));
    expect(seen.changes).toBe(changes);
  }
  expect(descriptors()).toBe(before);
});

test('the shipped examples are read as their comments say', async () => {
  const { source } = await started({
    directory: join(import.meta.dirname, '../../../deploy/examples/file-source'),
  });
  expect(source.snapshot()).toMatchObject({ complete: true, problems: [] });
  const shown = source.snapshot().clusters.map((reading) => {
    const { facts } = reading as {
      facts?: { name: string; address: string; port: number; networkIds: readonly string[] };
    };
    return facts
      ? `${facts.name} ${facts.address} ${facts.port} ${facts.networkIds.length}`
      : `${reading.kind} ${originOf(reading)}`;
  });
  expect(shown).toEqual([
    'kube-cmd33 10.0.0.193 6443 1',
    'not-proxied list.yaml item 2',
    'kube-q7xzp fd12:3456:789a:1::10 6443 1',
    'kube-t5k9d 10.20.0.7 6443 2',
  ]);
});
