import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { kubeconfigEntry, withKubeconfigEntry } from './kubeconfig-edit.ts';

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
  const change = withKubeconfigEntry(text, { server: server, tlsServerName: null });
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

/** `§` marks what a change inserts. Its reversal must give the text without the mark back. */
describe('the tls-server-name', () => {
  const NAME = 'kube-1.tenant-a';
  test.each<[title: string, text: string]>([
    [
      'of a kubeconfig of Cluster API',
      CAPI.replace('    server', `§    tls-server-name: ${NAME}\n§    server`),
    ],
    [
      'between comments',
      `clusters:\n- cluster: # c\n    # above\n§    tls-server-name: ${NAME}\n§    server: ${OLD} # the VIP\n    # below\n  name: k\n${REST}`,
    ],
    [
      'in flow style',
      `clusters: [{cluster: {x: 1, §"tls-server-name": "${NAME}", §server: ${OLD}}, name: k}]\n${REST}`,
    ],
    [
      'in JSON',
      `{"clusters":[{"cluster":{§"tls-server-name": "${NAME}", §"server":"${OLD}"},"name":"k"}],` +
        '"contexts":[{"name":"c","context":{"cluster":"k"}}],"current-context":"c"}',
    ],
    [
      'in JSON with a line for each field',
      `{"clusters":[{"cluster":{\n  "x":1,\n  §"tls-server-name": "${NAME}",\n  §"server":"${OLD}"\n},"name":"k"}],` +
        '"contexts":[{"name":"c","context":{"cluster":"k"}}],"current-context":"c"}',
    ],
    [
      'with other line endings',
      `clusters:\r\n- cluster:\r\n§    tls-server-name: ${NAME}\r\n§    server: ${OLD}\r\n  name: k\r\n${REST.replaceAll('\n', '\r\n')}`,
    ],
  ])('%s is inserted before the server, and its removal gives the same bytes back', (_title, text) => {
    const without = text.replace(/§[^§]*§/, '');
    const wanted = text.replaceAll('§', '');
    const named = withKubeconfigEntry(without, { server: OLD, tlsServerName: NAME });
    expect(named).toEqual({ kind: 'changed', text: wanted });
    expect(kubeconfigEntry(wanted)).toMatchObject({ server: OLD, tlsServerName: NAME });
    expect(withKubeconfigEntry(wanted, { server: OLD, tlsServerName: NAME })).toEqual({ kind: 'unchanged' });
    const back = withKubeconfigEntry(wanted, { server: OLD, tlsServerName: null });
    expect(back).toEqual({ kind: 'changed', text: without });
  });

  test.each<[title: string, text: string, after: string | null]>([
    ['after the server', `server: ${OLD}\n    tls-server-name: 'old' # c\n`, `server: ${OLD}\n`],
    ['as the last of a flow mapping', `{server: ${OLD}, tls-server-name: old}\n`, `{server: ${OLD}}\n`],
    [
      'with a value that another place shares',
      `server: ${OLD}\n    tls-server-name: &t old\n    x: *t\n`,
      null,
    ],
  ])('%s is removed alone, or not at all', (_title, fields, after) => {
    const kubeconfig = (text: string) =>
      `clusters:\n- name: k\n  cluster:\n    ${text}${REST.replaceAll('{name: c', '{name: c')}`;
    const change = withKubeconfigEntry(kubeconfig(fields), { server: OLD, tlsServerName: null });
    // A comment on the same line is not ours, so the line stays with it.
    if (after === null) expect(change.kind).toBe('unusable');
    else if (change.kind === 'changed') expect(parse(change.text)).toEqual(parse(kubeconfig(after)));
    else expect.fail(JSON.stringify(change));
  });

  test('that YAML 1.1 takes for a boolean is quoted', () => {
    const change = withKubeconfigEntry(CAPI, { server: OLD, tlsServerName: 'no' });
    const expected = CAPI.replace(`    server: ${OLD}`, `    tls-server-name: "no"\n    server: ${OLD}`);
    expect(change).toEqual({ kind: 'changed', text: expected });
  });

  test('and the server are changed together', () => {
    const change = withKubeconfigEntry(CAPI, { server: NEW, tlsServerName: NAME });
    const expected = CAPI.replace(`    server: ${OLD}`, `    tls-server-name: ${NAME}\n    server: ${NEW}`);
    expect(change).toEqual({ kind: 'changed', text: expected });
  });
});

describe('the server of the cluster that current-context uses', () => {
  test('is found with the name of its cluster', () => {
    expect(kubeconfigEntry(CAPI)).toEqual({
      kind: 'found',
      server: OLD,
      tlsServerName: null,
      cluster: 'kube-1',
      hasProxyUrl: false,
    });
  });

  test('is replaced, and nothing else in the kubeconfig of Cluster API changes', () => {
    expect(changedText(CAPI)).toBe(CAPI.replace(OLD, NEW));
  });

  test('is not changed if it is already right', () => {
    expect(withKubeconfigEntry(CAPI, { server: OLD, tlsServerName: null })).toEqual({ kind: 'unchanged' });
    expect(withKubeconfigEntry(changedText(CAPI), { server: NEW, tlsServerName: null })).toEqual({
      kind: 'unchanged',
    });
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
    const change = withKubeconfigEntry(text, { server: NEW, tlsServerName: null });
    expect(change).toEqual({ kind: 'unusable', reason: expect.stringContaining(reason) });
    for (const secret of ['S0VZ', 'Q0VSVA', 'Q0EtREFUQQ', OLD, '10.0.0.5'])
      expect(JSON.stringify(change)).not.toContain(secret);
  });
});
