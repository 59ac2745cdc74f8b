import { describe, expect, test } from 'vitest';
import { manifestFile } from './manifest-file.ts';

const cluster = (name: string) =>
  `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: OpenStackCluster\nmetadata:\n  name: ${name}\n`;
const object = (name: string) => ({
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1',
  kind: 'OpenStackCluster',
  metadata: { name },
});

describe('the text of a manifest file', () => {
  test('with one document has the file name as origin', async () => {
    expect(await manifestFile('a.yaml', cluster('a'))).toEqual({
      clusters: [{ origin: 'a.yaml', object: object('a') }],
      listeners: [],
      machines: [],
      errors: [],
      skipped: [],
    });
  });

  test('with several documents numbers them, including empty ones', async () => {
    const { clusters, errors, skipped } = await manifestFile(
      'a.yaml',
      `${cluster('a')}---\n---\n${cluster('b')}`,
    );
    expect(clusters.map(({ origin }) => origin)).toEqual(['a.yaml document 1', 'a.yaml document 3']);
    expect([...errors, ...skipped]).toEqual([]);
  });

  test.each([
    [
      'a List',
      { apiVersion: 'v1', kind: 'List', items: [object('a'), object('b')] },
      ['a.json item 1', 'a.json item 2'],
    ],
    [
      'a typed List',
      { apiVersion: 'x/v1', kind: 'OpenStackClusterList', items: [object('a')] },
      ['a.json item 1'],
    ],
    [
      'a List in a List',
      { kind: 'List', items: [{ kind: 'List', items: [object('a')] }] },
      ['a.json item 1 item 1'],
    ],
    ['an empty List', { kind: 'List', items: [] }, []],
    ['a plain array', [object('a')], ['a.json item 1']],
  ])('with %s is unwrapped', async (_title, value, origins) => {
    const { clusters, errors, skipped } = await manifestFile('a.json', JSON.stringify(value));
    expect(clusters.map(({ origin }) => origin)).toEqual(origins);
    expect([...errors, ...skipped]).toEqual([]);
  });

  test.each([
    [
      'another kind',
      'kind: Secret\nmetadata:\n  name: cloud-config\n',
      'kind "Secret" "cloud-config" is not supported: skipped',
    ],
    [
      'a template',
      cluster('a').replace('OpenStackCluster', 'OpenStackClusterTemplate'),
      'kind "OpenStackClusterTemplate" "a" is not supported',
    ],
    ['no kind', 'a: 1\n', 'an object without a kind is not supported'],
    ['plain text', 'hello\n', '"hello" is not supported'],
    ['a List whose items are not a list', 'kind: List\nitems: 7\n', 'kind "List" is not supported'],
  ])('with %s besides a cluster skips it with one problem', async (_title, text, reason) => {
    const { clusters, errors, skipped } = await manifestFile('a.yaml', `${text}---\n${cluster('b')}`);
    expect(clusters.map(({ origin }) => origin)).toEqual(['a.yaml document 2']);
    expect(errors).toEqual([]);
    expect(skipped).toEqual([{ origin: 'a.yaml document 1', reason: expect.stringContaining(reason) }]);
  });

  test('with clusters, listeners and machines separates them', async () => {
    const others =
      'apiVersion: isthmus.dev/v1alpha1\nkind: AdditionalListener\n---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Machine\n';
    const { clusters, listeners, machines, skipped } = await manifestFile(
      'a.yaml',
      `${others}---\n${cluster('a')}---\napiVersion: machine.openshift.io/v1beta1\nkind: Machine\n`,
    );
    const origins = [listeners, machines, clusters, skipped].map((found) =>
      found.map(({ origin }) => origin),
    );
    expect(origins).toEqual([1, 2, 3, 4].map((number) => [`a.yaml document ${number}`]));
  });

  test.each([
    ['bad indentation', 'a: 1\n b: 2\n', /^not YAML at line 1, column 4: /],
    ['an open bracket', `${'#\n'.repeat(5)}a: [1\n`, /^not YAML at line 7, column 1: /],
    ['a key twice', 'a: 1\na: 2\n', /^not YAML at line 2, column 1: .*unique/],
    ['a nested key twice', 'a: 1\nb:\n- { c: 1, c: 2 }\n', /^not YAML at line 3, column 11: .*unique/],
    ['an alias without an anchor', 'a: *b\n', /^not usable YAML: .*alias/i],
    ['a tab as indentation', '\ta: 1\n', /^not YAML at line 1, column 1: /],
  ])('with %s is rejected with the position', async (_title, text, reason) => {
    const { clusters, errors } = await manifestFile('a.yaml', text);
    expect(clusters).toEqual([]);
    expect(errors).toEqual([{ origin: 'a.yaml', reason: expect.stringMatching(reason) }]);
    expect(errors[0]?.reason).not.toContain('\n');
  });

  test('with very many keys in one mapping takes no more time per key than with few keys', async () => {
    const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `k${i}: 1\n`).join('');
    /** CPU time of this process, independent of the load of the machine. */
    const costOf = async (text: string): Promise<number> => {
      const before = process.cpuUsage();
      expect((await manifestFile('a.yaml', text)).errors).toEqual([]);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const [few, many] = [keysOf(2000), keysOf(60_000)];
    await costOf(few); // warm-up: the first run includes compilation
    // A linear check costs thirty times as much for thirty times as many keys. A quadratic one would cost hundreds of times as much.
    const limit = 120 * (await costOf(few));
    expect(await costOf(many)).toBeLessThan(limit);
    expect((await manifestFile('a.yaml', `${many}k7: 1\n`)).errors).toEqual([
      { origin: 'a.yaml', reason: expect.stringMatching(/line 60001, column 1: .*unique/) },
    ]);
  });

  test('with one bad document still gives the others', async () => {
    const { clusters, errors } = await manifestFile(
      'a.yaml',
      `${cluster('a')}---\nx: [\n---\n${cluster('c')}`,
    );
    expect(clusters.map(({ origin }) => origin)).toEqual(['a.yaml document 1', 'a.yaml document 3']);
    expect(errors).toEqual([{ origin: 'a.yaml document 2', reason: expect.stringContaining('line 7') }]);
  });

  test('that is truncated JSON is rejected with the position', async () => {
    const { clusters, errors } = await manifestFile('a.json', '{"kind": "OpenStackCluster",\n "meta');
    expect(clusters).toEqual([]);
    expect(errors).toEqual([{ origin: 'a.json', reason: expect.stringMatching(/^not JSON: .*line 2/) }]);
  });

  test('with aliases that expand without end is rejected at once', async () => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 12; i++)
      lines.push(
        `a${i}: &a${i} [${Array(10)
          .fill(`*a${i - 1}`)
          .join(',')}]`,
      );
    const start = performance.now();
    const { errors } = await manifestFile('bomb.yaml', lines.join('\n'));
    expect(errors).toEqual([{ origin: 'bomb.yaml', reason: expect.stringContaining('alias') }]);
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  test.each([
    ['bottomless.yaml', `a: ${'['.repeat(50_000)}`],
    ['bottomless.json', '['.repeat(500_000)],
    ['lists.json', `${'['.repeat(3000)}${']'.repeat(3000)}`],
    ['cycle.yaml', 'kind: List\nitems: &a\n- *a\n'],
    [
      'proto.yaml',
      '__proto__:\n  kind: OpenStackCluster\n  apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n',
    ],
  ])('%s ends in a problem, not in a crash', async (name, text) => {
    const { clusters, errors, skipped } = await manifestFile(name, text);
    expect(clusters).toEqual([]);
    expect(errors.length + skipped.length).toBeGreaterThan(0);
  });

  test.each(['a.yaml', 'a.json'])('that is empty (%s) has no objects and no error', async (name) => {
    expect(await manifestFile(name, '\n \n')).toEqual({
      ...{ clusters: [], listeners: [], machines: [] },
      ...{ errors: [], skipped: [] },
    });
  });
});
