import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { kubeconfigEntry, withKubeconfigEntry } from './kubeconfig-edit.ts';

const NEW = 'https://kube-1.magnum-system:6443';
const OLD = 'https://10.0.0.5:6443';
const CAPI = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Q0EtREFUQQ==
    server: ${OLD}
  name: kube-1
contexts:
- context:
    cluster: kube-1
    user: kube-1-admin
  name: kube-1-admin@kube-1
current-context: kube-1-admin@kube-1
users:
- name: kube-1-admin
  user:
    client-key-data: S0VZLVNFQ1JFVA==
`;

const name = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'b', '1', '-', '@', ':', ' ', '#', '"', "'", 'ä'),
    minLength: 1,
    maxLength: 6,
  }),
  fc.constantFrom('k', 'true', 'null', '__proto__'),
);
const server = fc.constantFrom(
  OLD,
  NEW,
  'https://[fd00::5]:6443',
  'https://a/b?c=d#e',
  "https://it's:1",
  'x #y',
  'a: b',
  '{',
  '- x',
  '*a',
  'null',
  '1',
  'ü\u2028\u0085"\\',
);
const value = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.string(), { maxLength: 2 }),
);
const extras = fc.dictionary(
  fc.string({ unit: fc.constantFrom('x', 'y', '-', '_') }).map((key) => `x-${key}`),
  value,
  { maxKeys: 3 },
);
const config = fc
  .record({
    names: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }),
    pick: fc.nat(),
    extra: extras,
    servers: fc.array(server, { minLength: 4, maxLength: 4 }),
  })
  .map(({ names, pick, extra, servers }) => {
    const used = names[pick % names.length] as string;
    return {
      index: names.indexOf(used),
      object: {
        ...extra,
        clusters: names.map((each, i) => ({
          cluster: { ...extra, server: servers[i] as string, z: 1 },
          name: each,
        })),
        contexts: [{ name: used, context: { cluster: used, user: 'u' } }],
        'current-context': used,
        users: [{ name: 'u', user: { token: 'x' } }],
      },
    };
  });
const style = fc.constantFrom<((object: object) => string)[]>(
  (object) => stringify(object),
  (object) => stringify(object, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' }),
  (object) => stringify(object, { defaultStringType: 'QUOTE_SINGLE', indentSeq: false }),
  (object) => stringify(object, { collectionStyle: 'flow', lineWidth: 0 }),
  (object) => `# é\n${stringify(object, { indent: 4, aliasDuplicateObjects: false })}# end`,
  (object) => stringify(object).replaceAll('\n', '\r\n'),
  (object) => `\ufeff${stringify(object)}`,
  (object) => JSON.stringify(object),
  (object) => JSON.stringify(object, null, 2),
);

/** The number of characters of the first text between the common prefix and the common suffix. */
function lengthOfDifference(before: string, after: string): number {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  return before.length - end - start;
}

const isOrdinary = (text: string): boolean => /^https:\/\/[\w.:-]+$/.test(text);
const unquoted = (text: string): string => text.replaceAll(/["']/g, '');

describe('for any kubeconfig', () => {
  test('a change replaces only the server, is idempotent, and its reversal restores the same bytes', () => {
    const seen = { changed: 0, unchanged: 0, unusable: 0 };
    fc.assert(
      fc.property(config, style, server, ({ object, index }, write, next) => {
        const text = write(object);
        const before = parse(text) as typeof object;
        const entry = before.clusters[index]!;
        const old = entry.cluster.server;
        const change = withKubeconfigEntry(text, { server: next, tlsServerName: null });
        seen[change.kind] += 1;
        if (change.kind === 'unusable') return;
        expect(change.kind).toBe(old === next ? 'unchanged' : 'changed');
        if (change.kind === 'unchanged') return;

        entry.cluster.server = next;
        expect(parse(change.text)).toEqual(before);
        expect(kubeconfigEntry(change.text)).toMatchObject({ kind: 'found', server: next });
        expect(withKubeconfigEntry(change.text, { server: next, tlsServerName: null })).toEqual({
          kind: 'unchanged',
        });
        expect(lengthOfDifference(text, change.text)).toBeLessThan(60);

        const back = withKubeconfigEntry(change.text, { server: old, tlsServerName: null });
        if (back.kind !== 'changed') expect.fail(JSON.stringify(back));
        // The quotes stay, unless one of the two values is invalid there without quotes.
        if (isOrdinary(next) && isOrdinary(old)) expect(back.text).toBe(text);
        else if (!/["'\\]/.test(next + old)) expect(unquoted(back.text)).toBe(unquoted(text));
      }),
      { numRuns: 400 },
    );
    expect(seen.changed).toBeGreaterThan(200);
    expect(seen.unusable).toBeLessThan(80);
  });

  test('a tls-server-name is the only other change, and its removal restores the same bytes', () => {
    const name = fc.constantFrom('kube-1.magnum-system', 'a', 'null', '1', 'a: b');
    let changed = 0;
    fc.assert(
      fc.property(config, style, name, ({ object, index }, write, tlsServerName) => {
        const text = write(object);
        const before = parse(text) as { clusters: { cluster: Record<string, unknown> }[] };
        const fields = before.clusters[index]!.cluster;
        const server = fields.server as string;
        const change = withKubeconfigEntry(text, { server, tlsServerName });
        if (change.kind !== 'changed') return;
        changed += 1;
        expect(kubeconfigEntry(change.text)).toMatchObject({ server, tlsServerName });
        const back = withKubeconfigEntry(change.text, { server, tlsServerName: null });
        expect(back).toEqual({ kind: 'changed', text });
        fields['tls-server-name'] = tlsServerName;
        expect(parse(change.text)).toEqual(before);
      }),
      { numRuns: 400 },
    );
    expect(changed).toBeGreaterThan(300);
  });

  test('no text makes it throw, and a text that cannot be read cannot be changed', () => {
    const marks = ['---\n', '&a ', '*a', '"', "'", '{', '}', '[', '- ', '\t', '\ufeff', '<<: '];
    const piece = fc.oneof(
      fc.constantFrom(...CAPI.split(/(?<=\n)/), ...marks),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('');
        const read = kubeconfigEntry(text);
        const change = withKubeconfigEntry(text, { server: NEW, tlsServerName: null });
        if (read.kind === 'unusable') expect(change).toEqual(read);
        else expect(['changed', 'unusable', 'unchanged']).toContain(change.kind);
      }),
      { numRuns: 300 },
    );
  });

  test('a change of a damaged kubeconfig still changes only the server', () => {
    const put = fc.constantFrom('', '"', '&', '*', ' ', '\n', ':', '{', '#');
    fc.assert(
      fc.property(fc.nat(CAPI.length - 1), put, (at, character) => {
        const text = CAPI.slice(0, at) + character + CAPI.slice(at + 1);
        const change = withKubeconfigEntry(text, { server: NEW, tlsServerName: null });
        if (change.kind !== 'changed') return;
        const before = parse(text) as { clusters: { name: string; cluster: { server: string } }[] };
        const { cluster } = kubeconfigEntry(text) as { cluster: string };
        for (const entry of before.clusters) if (entry.name === cluster) entry.cluster.server = NEW;
        expect(parse(change.text)).toEqual(before);
      }),
      { numRuns: 400 },
    );
  });
});
