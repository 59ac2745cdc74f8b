import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconfigServer, withKubeconfigServer } from './kubeconfig-edit.ts';

const NEW = 'https://kube-1.magnum-system:6443';
const OLD = 'https://10.0.0.5:6443';

/** As Cluster API's control plane provider writes it. */
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
kind: Config
preferences: {}
users:
- name: kube-1-admin
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZLVNFQ1JFVA==
`;

const changedText = (text: string, server = NEW): string => {
  const change = withKubeconfigServer(text, server);
  if (change.kind !== 'changed') expect.fail(JSON.stringify(change));
  return change.text;
};

/** `§` marks the replaced text and its replacement: `§old§new§`. */
const marked = (text: string): { before: string; after: string } => ({
  before: text.replace(/§(.*?)§(.*?)§/s, '$1'),
  after: text.replace(/§(.*?)§(.*?)§/s, '$2'),
});
const REST = `contexts:
- {name: c, context: {cluster: k, user: u}}
current-context: c
`;

describe('the server of the cluster that current-context uses', () => {
  test('is found with the name of its cluster', () => {
    expect(kubeconfigServer(CAPI)).toEqual({ kind: 'found', server: OLD, cluster: 'kube-1' });
  });

  test('is replaced, and nothing else in the kubeconfig of Cluster API changes', () => {
    expect(changedText(CAPI)).toBe(CAPI.replace(OLD, NEW));
  });

  test('is not changed if it is already right', () => {
    expect(withKubeconfigServer(CAPI, OLD)).toEqual({ kind: 'unchanged' });
    expect(withKubeconfigServer(changedText(CAPI), NEW)).toEqual({ kind: 'unchanged' });
  });

  test.each<[title: string, text: string]>([
    [
      'with a comment behind it',
      `clusters:\n- cluster:\n    server: §https://o:1§${NEW}§   # the VIP\n  name: k\n${REST}`,
    ],
    [
      'with comments everywhere',
      `# top\nclusters: # list\n  # entry\n  - name: k # name\n    cluster:\n      # above\n      server: §https://o:1§${NEW}§\n      # below\n${REST}# end`,
    ],
    [
      'in double quotes',
      `clusters:\n- cluster:\n    server: §"https://o:1"§"${NEW}"§ # c\n  name: "k"\n${REST}`,
    ],
    [
      'in double quotes with escapes',
      `clusters:\n- cluster:\n    server: §"https:\\/\\/o:\\x31"§"${NEW}"§\n  name: k\n${REST}`,
    ],
    ['in single quotes', `clusters:\n- cluster:\n    server: §'https://o:1'§'${NEW}'§\n  name: 'k'\n${REST}`],
    [
      'over two lines',
      `clusters:\n- cluster:\n    server: §"https://\\\n      o:1"§"${NEW}"§\n  name: k\n${REST}`,
    ],
    ['in flow style', `clusters: [{cluster: {server: §https://o:1§${NEW}§, x: 1}, name: k}]\n${REST}`],
    [
      'with other line endings',
      `clusters:\r\n- cluster:\r\n    server: §https://o:1§${NEW}§\r\n  name: k\r\n${REST.replaceAll('\n', '\r\n')}`,
    ],
    [
      'after a byte order mark',
      `\ufeffclusters:\n- cluster:\n    server: §https://o:1§${NEW}§\n  name: k\n${REST}`,
    ],
    [
      'in a document with a start and an end',
      `%YAML 1.2\n---\nclusters:\n- cluster: {server: §https://o:1§${NEW}§}\n  name: k\n${REST}...\n`,
    ],
    [
      'without a line break at the end',
      `current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters:\n- name: k\n  cluster:\n    server: §https://o:1§${NEW}§`,
    ],
    ['with a tag', `clusters:\n- cluster:\n    server: !!str §https://o:1§${NEW}§\n  name: k\n${REST}`],
    [
      'with an unused anchor',
      `clusters:\n- cluster:\n    server: &s §https://o:1§${NEW}§\n  name: k\n${REST}`,
    ],
    [
      'as an alias of another value, which keeps its own',
      `x: &s https://o:1\nclusters:\n- cluster:\n    server: §*s§${NEW}§\n  name: k\n${REST}`,
    ],
    [
      'beside an alias elsewhere',
      `x: &s {a: 1}\ny: *s\nclusters:\n- cluster:\n    server: §https://o:1§${NEW}§\n  name: k\n${REST}`,
    ],
    [
      'as a key with a question mark',
      `clusters:\n- cluster:\n    ? server\n    : §https://o:1§${NEW}§\n  name: k\n${REST}`,
    ],
    [
      'that is not the first',
      `clusters:\n- cluster:\n    server: https://o:1\n  name: first\n- name: k\n  cluster:\n    server: §https://o:1§${NEW}§\n${REST}`,
    ],
    [
      'among invalid entries and entries without a name',
      `clusters:\n- 1\n-\n- {cluster: {server: https://o:1}}\n- name: k\n  cluster:\n    server: §https://o:1§${NEW}§\n${REST}`,
    ],
    [
      'of a cluster that another context also uses',
      `clusters:\n- cluster:\n    server: §https://o:1§${NEW}§\n  name: k\n${REST.replace('current', '- {name: d, context: {cluster: k}}\ncurrent')}`,
    ],
  ])('%s', (_title, text) => {
    const { before, after } = marked(text);
    expect(changedText(before)).toBe(after);
  });

  test.each<[indent: string | number | undefined]>([[undefined], [2], ['\t']])(
    'in JSON (indented by %j)',
    (indent) => {
      const text = JSON.stringify({ ...parse(CAPI), 'quote"d': 'a/b\u2028\ud83d\ude00' }, null, indent);
      const after = changedText(text);
      expect(after).toBe(text.replace(OLD, NEW));
      expect(JSON.parse(after)).toEqual(JSON.parse(text.replace(OLD, NEW)));
    },
  );

  test('gets quotes where the new server needs them: an IPv6 address in flow style', () => {
    const text = `clusters: [{cluster: {server: ${OLD}}, name: k}]\n${REST}`;
    expect(changedText(text, 'https://[fd00::5]:6443')).toBe(text.replace(OLD, '"https://[fd00::5]:6443"'));
    expect(changedText(CAPI, 'https://[fd00::5]:6443')).toBe(CAPI.replace(OLD, 'https://[fd00::5]:6443'));
  });
});

describe('a kubeconfig that is not changed, with the reason:', () => {
  test.each<[title: string, text: string, reason: string]>([
    ['an empty text', '', 'it is empty'],
    ['only a comment', '# nothing\n', 'it is empty'],
    ['an empty document', '---\n', 'it is YAML, but not a mapping'],
    ['a word', 'hello', 'it is YAML, but not a mapping'],
    ['a list', '- 1', 'it is YAML, but not a mapping'],
    ['two documents', `${CAPI}---\n${CAPI}`, 'it holds 2 YAML documents'],
    ['half a document', CAPI.replace('name: kube-1\n', 'name: "kube-1\n'), 'it is not YAML at line '],
    ['a tab for indentation', CAPI.replace('    server', '\tserver'), 'it is not YAML at line 5, column '],
    [
      'two servers in one cluster',
      CAPI.replace('    server', '    server: x\n    server'),
      '(DUPLICATE_KEY)',
    ],
    ['an alias without an anchor', `${CAPI}x: *S0VZ\n`, 'its aliases or its nesting cannot be resolved'],
    ['no current-context', CAPI.replace(/current-context.*\n/, ''), 'it has no current-context'],
    [
      'an empty current-context',
      CAPI.replace(/current-context.*/, 'current-context: ""'),
      'it has no current-context',
    ],
    [
      'a current-context that is no text',
      CAPI.replace(/current-context.*/, 'current-context: 1'),
      'it has no current-context',
    ],
    [
      'a current-context that does not exist',
      CAPI.replace(/current-context.*/, 'current-context: other'),
      'it has no context named "other", which is its current-context',
    ],
    ['no contexts', 'current-context: c\nclusters: []\n', 'it has no context named "c"'],
    ['contexts that are not a list', 'current-context: c\ncontexts: {c: 1}\n', 'it has no context named "c"'],
    [
      'two contexts of one name',
      CAPI.replace('contexts:\n', 'contexts:\n- {name: kube-1-admin@kube-1}\n'),
      'it has 2 contexts named "kube-1-admin@kube-1"',
    ],
    [
      'a context without a cluster',
      CAPI.replace('    cluster: kube-1\n', ''),
      'its current context "kube-1-admin@kube-1" names no cluster',
    ],
    [
      'a cluster that does not exist',
      CAPI.replace('  name: kube-1\n', '  name: other\n'),
      'it has no cluster named "kube-1", which its current context "kube-1-admin@kube-1" uses',
    ],
    [
      'two clusters of one name',
      CAPI.replace('clusters:\n', 'clusters:\n- {name: kube-1}\n'),
      'it has 2 clusters named "kube-1"',
    ],
    ['a cluster without a server', CAPI.replace(/ {4}server.*\n/, ''), 'its cluster "kube-1" has no server'],
    ['an empty server', CAPI.replace(OLD, ''), 'its cluster "kube-1" has no server'],
    ['a server that is no text', CAPI.replace(OLD, '6443'), 'its cluster "kube-1" has no server'],
    [
      'a server that comes by a merge key',
      CAPI.replace(`server: ${OLD}`, '<<: {server: x}'),
      'its cluster "kube-1" has no server',
    ],
    [
      'a server in a block of lines',
      CAPI.replace(OLD, `>-\n      ${OLD}`),
      'in a YAML form that cannot be replaced',
    ],
    [
      'a server that another value shares',
      `${CAPI.replace(OLD, `&s ${OLD}`)}x: *s\n`,
      'shares it, or the cluster "kube-1", by an anchor',
    ],
    [
      'a cluster that another entry shares',
      `${CAPI.replace('cluster:\n    cert', 'cluster: &c\n    cert')}x: *c\n`,
      'by an anchor',
    ],
    [
      'a cluster that is an alias',
      `x: &c {server: ${OLD}}\nclusters: [{name: k, cluster: *c}]\n${REST}`,
      'by an anchor',
    ],
    ['a cycle', `${CAPI}x: &x [*x]\n`, 'its aliases or its nesting cannot be resolved'],
    ['nesting without end', `${CAPI}x: ${'['.repeat(20_000)}`, 'it'],
    [
      'a bomb of aliases',
      `${CAPI}a: &a [${'x,'.repeat(9)}x]\nb: &b [${'*a,'.repeat(99)}*a]\nc: &c [${'*b,'.repeat(99)}*b]\nd: [${'*c,'.repeat(99)}*c]\n`,
      'its aliases or its nesting cannot be resolved',
    ],
    ['too long', `${CAPI}# ${'x'.repeat(128 * 1024)}`, 'exceed the limit of 131072'],
  ])('%s', (_title, text, reason) => {
    const change = withKubeconfigServer(text, NEW);
    expect(change).toEqual({ kind: 'unusable', reason: expect.stringContaining(reason) });
    for (const secret of ['S0VZ', 'Q0VSVA', 'Q0EtREFUQQ', OLD, '10.0.0.5'])
      expect(JSON.stringify(change)).not.toContain(secret);
  });
});
