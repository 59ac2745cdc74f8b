import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ConfigProblem,
  type ConfigResult,
  formatProblems,
  type RunConfig,
  readConfig,
} from './config.ts';
import { environmentName, FLAG_NAMES, FLAGS, type FlagName } from './flags.ts';

const SOURCE = ['--source', 'file:/etc/isthmus/clusters'];

function configOf(result: ConfigResult): RunConfig {
  if ('problems' in result) expect.fail(formatProblems(result.problems));
  return result.config;
}

function problemsOf(result: ConfigResult): readonly ConfigProblem[] {
  return 'problems' in result ? result.problems : [];
}

const read = (args: readonly string[], environment: Record<string, string> = {}) =>
  readConfig([...SOURCE, ...args], environment);

const ENDPOINT =
  'a port or <address>:<port>, such as 6443, 127.0.0.1:6443 or [::1]:6443 (port 0 takes any free one)';
const NAME = 'a name of lower-case letters, digits and dashes, at most 63';
const SOURCE_WANTED =
  'kubernetes, or file:<directory> with OpenStackCluster manifests, such as file:/etc/isthmus/clusters';
const duration = (range: string) => `a duration from ${range}, such as 500ms, 10s or 2m`;
const count = (range: string) => `a whole number from ${range}`;
const cidrs = (bad: string) =>
  `addresses or CIDRs separated by commas, such as 10.0.0.0/8,fd00::/8 (not one: ${bad})`;

const BAD_ENDPOINTS = [
  'http',
  '65536',
  '123456',
  '-1',
  '127.0.0.1',
  '127.0.0.1:',
  '127.0.0.1:x',
  '256.0.0.1:80',
  'example.org:80',
  '::1:80',
  '[::1]',
  '[]:80',
  '[127.0.0.1]:80',
  '[::g]:80',
  ' 80',
  '80 ',
  '',
] as const;
const BAD_DURATIONS = ['5', 's', '5 s', '5d', '-5s', '1.5s', '1e3s', '9999999999s', '5S', ''] as const;
const BAD_NAMES = ['Upper', '-a', 'a-', 'a.b', 'a_b', 'ä', 'a'.repeat(64), ''] as const;
const BAD_COUNTS = ['0', '-1', '1.5', '1e3', '0x10', ' 1', 'many', '99999999999', ''] as const;

/** For every flag: values that it rejects, and the message. */
const BAD: { readonly [N in FlagName]: { readonly wanted: string; readonly values: readonly string[] } } = {
  source: { wanted: SOURCE_WANTED, values: ['/etc/clusters', 'file:', 'File:/x', 'Kubernetes', ''] },
  namespace: { wanted: NAME, values: BAD_NAMES },
  'netns-dir': { wanted: 'a path, such as /run/netns', values: ['run/netns', '~', 'x', ''] },
  'netns-prefixes': { wanted: '', values: [] }, // below
  'proxy-always': { wanted: 'true or false', values: ['sure', '2', 'truee', ' '] },
  'trust-spec-network': { wanted: 'true or false', values: ['sure', '2', ' '] },
  'control-plane-machines': { wanted: 'one of on, off', values: ['true', 'ON', ''] },
  'default-cluster': { wanted: NAME, values: BAD_NAMES },
  interval: { wanted: duration('100ms to 24h'), values: [...BAD_DURATIONS, '99ms', '25h'] },
  kubeconfig: { wanted: 'a path, such as /etc/isthmus/kubeconfig', values: ['', 'a\0b'] },
  'cluster-namespace': {
    wanted: 'the name of a namespace, or * for all of them',
    values: ['**', 'a,b', ...BAD_NAMES],
  },
  'node-name': { wanted: "a host's name, at most 253 letters", values: ['', 'a b', 'ä', 'a'.repeat(254)] },
  'node-selector': { wanted: '', values: [] }, // below
  'unknown-node': { wanted: 'one of take-part, stay-out', values: ['', 'join', 'Take-part'] },
  'lock-dir': { wanted: 'a path, such as /run/netns', values: ['run/isthmus', '~', 'x', ''] },
  daemonset: {
    wanted: '<namespace>/<name>:<generation>, for example isthmus/isthmus:7',
    values: ['', 'isthmus', 'isthmus:7', 'a/b', 'a/b:x', 'a/b:-1', 'a/b:1.5', 'a/b/c:1', 'A/b:1', ':1'],
  },
  'take-over': { wanted: 'true or false', values: ['sure', '2', ' '] },
  'advertise-address': {
    wanted: 'an IP address, such as 192.0.2.10 or 2001:db8::10',
    values: ['', 'net-1', '10.0.0', '10.0.0.1:6443', '[fd00::1]', 'fe80::1%eth0', '10.0.0.0/8'],
  },
  liveness: { wanted: 'one of auto, lease, timestamp', values: ['', 'Lease', 'none'] },
  'propagation-wait': { wanted: duration('0ms to 5m'), values: [...BAD_DURATIONS, '301s'] },
  'allow-mass-delete': { wanted: 'true or false', values: ['sure', '2', ' '] },
  'resource-tags': { wanted: '', values: [] }, // it can have several problems: below
  'ignored-selector-labels': { wanted: '', values: [] }, // below
  listen: { wanted: ENDPOINT, values: BAD_ENDPOINTS },
  admin: { wanted: ENDPOINT, values: BAD_ENDPOINTS },
  'health-listen': { wanted: ENDPOINT, values: BAD_ENDPOINTS },
  'listener-ports': {
    wanted: 'a range of ports from 1 to 65535, such as 17000-17999, or nothing',
    values: ['17000', '17000-', '-17000', '0-10', '20-10', '1-65536', '1-2-3', ' 1-2', 'a-b'],
  },
  handover: { wanted: 'a path, such as /run/netns', values: ['run/netns', '~', 'x', ''] },
  'trust-proxy-protocol': { wanted: '', values: [] }, // its message names the bad part: see its own table below
  health: { wanted: 'one of tcp, tls', values: ['http', 'TCP', 'tcp,tls', ''] },
  'health-interval': { wanted: duration('100ms to 24h'), values: [...BAD_DURATIONS, '99ms', '1441m'] },
  'health-timeout': { wanted: duration('10ms to 1m'), values: [...BAD_DURATIONS, '9ms', '61s'] },
  'health-rise': { wanted: count('1 to 100'), values: [...BAD_COUNTS, '101'] },
  'health-fall': { wanted: count('1 to 100'), values: [...BAD_COUNTS, '101'] },
  engine: { wanted: 'one of native, streams', values: ['fast', 'Native', ''] },
  threads: { wanted: count('1 to 16'), values: [...BAD_COUNTS, '17'] },
  'max-connections': { wanted: count('1 to 1000000'), values: [...BAD_COUNTS, '1000001'] },
  'max-connections-per-cluster': { wanted: count('1 to 1000000'), values: [...BAD_COUNTS, '1000001'] },
  'max-pending-dials': { wanted: count('1 to 100000'), values: [...BAD_COUNTS, '100001'] },
  'hello-timeout': { wanted: duration('10ms to 10m'), values: [...BAD_DURATIONS, '9ms', '601s'] },
  'connect-timeout': { wanted: duration('10ms to 10m'), values: [...BAD_DURATIONS, '9ms', '601s'] },
  'dead-peer-timeout': { wanted: duration('0ms to 24h'), values: [...BAD_DURATIONS, '25h'] },
  'drain-timeout': { wanted: duration('0ms to 24h'), values: [...BAD_DURATIONS, '25h'] },
  'handover-drain': { wanted: duration('0ms to 24h'), values: [...BAD_DURATIONS, '25h'] },
  'log-level': {
    wanted: 'one of trace, debug, info, warn, error, fatal',
    values: ['verbose', 'INFO', 'silent', ''],
  },
  'log-format': { wanted: 'one of pretty, json, journal', values: ['text', 'JSON', ''] },
};

describe('an invalid value is one problem that has its flag, its value and the accepted values', () => {
  const rows = FLAG_NAMES.flatMap((name) => BAD[name].values.map((value) => ({ name, value })));
  test.each(rows)('--$name=$value', ({ name, value }) => {
    const { wanted } = BAD[name];
    const others = name === 'source' ? [] : SOURCE;
    const flag = [{ where: `--${name}`, value, wanted }];
    expect(readConfig([...others, `--${name}=${value}`], {})).toEqual({ problems: flag });
    const variable = environmentName(name);
    expect(readConfig(others, { [variable]: value })).toEqual({
      problems: [{ where: variable, value, wanted }],
    });
    if (FLAGS[name].placeholder !== '')
      expect(readConfig([...others, `--${name}`, value], {})).toEqual({ problems: flag });
  });

  test.each<[title: string, value: string, bad: string]>([
    ['a text that is not an address', '10.0.0', '10.0.0'],
    ['a prefix over 32', '10.0.0.0/33', '10.0.0.0/33'],
    ['a prefix over 128', 'fd00::/129', 'fd00::/129'],
    ['a name', 'balancer.local', 'balancer.local'],
    ['an empty part', '10.0.0.0/8,', ''],
    ['an empty value', '', ''],
    ['only the invalid parts of several', '10.0.0.0/8, x ,::1,y/8', 'x, y/8'],
    ['a mask', '10.0.0.0/255.0.0.0', '10.0.0.0/255.0.0.0'],
  ])('--trust-proxy-protocol names %s', (_title, value, bad) => {
    const where = '--trust-proxy-protocol';
    expect(read([`${where}=${value}`])).toEqual({ problems: [{ where, value, wanted: cidrs(bad) }] });
  });

  test('--resource-tags names every problem of its value', () => {
    const where = '--resource-tags';
    const result = read([`${where}=team,isthmus.dev/x=y,a b=c,ok=1,v=-,ok=2`]);
    expect(problemsOf(result)).toEqual([
      { where, value: null, wanted: '"team" is not a tag. Use key=value' },
      {
        where,
        value: null,
        wanted: 'the key "isthmus.dev/x" cannot be used: keys of isthmus.dev are reserved',
      },
      { where, value: null, wanted: expect.stringMatching(/^the key "a b" cannot be used: use 1 to/) },
      {
        where,
        value: null,
        wanted: expect.stringMatching(/^the value "-" of "v" cannot be used: use an empty value/),
      },
      { where, value: null, wanted: 'the key "ok" is given twice' },
    ]);
    expect(formatProblems(problemsOf(result))).toContain(
      '\n  --resource-tags: the key "ok" is given twice\n',
    );
  });

  test('--ignored-selector-labels names every problem of its value', () => {
    const where = '--ignored-selector-labels';
    expect(problemsOf(read([`${where}=ok,a b,,ok`]))).toEqual([
      { where, value: null, wanted: expect.stringMatching(/^the key "a b" cannot be used: use 1 to/) },
      { where, value: null, wanted: expect.stringMatching(/^the key "" cannot be used: use 1 to/) },
      { where, value: null, wanted: 'the key "ok" is given twice' },
    ]);
  });

  test('--netns-prefixes names every problem of its value', () => {
    const where = '--netns-prefixes';
    const bad = ['tenant', '', '-', '../x-', 'a/b-', 'a b-', '.hidden-', `${'x'.repeat(64)}-`];
    expect(problemsOf(read([`${where}=${['ok-', ...bad, 'ok-'].join(',')}`]))).toEqual([
      ...bad.map((prefix) => ({
        where,
        value: null,
        wanted: expect.stringContaining(`the prefix ${JSON.stringify(prefix)} is not valid. Use at most 64`),
      })),
      { where, value: null, wanted: 'the prefix "ok-" is given twice' },
    ]);
  });

  describe('--node-selector', () => {
    const where = '--node-selector';
    const problem = (wanted: unknown) => ({ where, value: null, wanted });

    test('names every problem of its value', () => {
      const text =
        '[{"key":"a","operator":"Near"},{"key":"b c","operator":"In"},{"key":"d","operator":"Gt","values":["x"]}]';
      expect(problemsOf(read([where, text]))).toEqual([
        problem(
          'the selector[0].operator is "Near": expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
        ),
        problem(expect.stringMatching(/^the selector\[1\]\.key is "b c": use 1 to/)),
        problem('the selector[1].values is []: In needs at least one value'),
        problem('the selector[2].values is ["x"]: Gt needs a whole number'),
      ]);
    });

    test.each([
      ['no JSON', 'zone=a', /^this is not JSON \(.*\)\. Use a list such as \[\{"key"/],
      ['an object', '{"matchExpressions":[]}', /^the selector is an object: expected a list$/],
      ['null', 'null', /^the selector is null: expected a list$/],
    ])('that is %s is not valid', (_, text, wanted) =>
      expect(problemsOf(read([where, text]))).toEqual([problem(expect.stringMatching(wanted))]),
    );

    test.each(['', ' ', '[]'])('with the value %j selects every node', (text) =>
      expect(configOf(read([`${where}=${text}`])).nodeSelector).toBeNull(),
    );

    test('is read from a file as well', () => {
      const machine = {
        directoryProblem: () => null,
        isFile: () => true,
        readText: (path: string) =>
          path === '/s.json'
            ? { text: '[{"key":"zone","operator":"Exists"}]\n' }
            : { wanted: 'a file that exists' },
      };
      const from = (path: string) => readConfig([...SOURCE, where, `@${path}`], {}, machine);
      expect(configOf(from('/s.json')).nodeSelector).toMatchObject([{ key: 'zone', operator: 'Exists' }]);
      expect(problemsOf(from('/t.json'))).toEqual([
        { where, value: '@/t.json', wanted: 'a file that exists' },
      ]);
    });
  });

  test('every default is valid', () => {
    expect(problemsOf(readConfig([], {}))).toEqual([]);
  });
});

describe('what is valid', () => {
  test('defaults are as documented', () => {
    expect(readConfig([], {})).toEqual({
      warnings: [],
      config: {
        source: { kind: 'kubernetes' },
        namespace: 'magnum-system',
        netnsDirectory: '/run/netns',
        netnsPrefixes: [],
        proxyAlways: false,
        trustSpecNetwork: false,
        controlPlaneMachines: 'on',
        defaultCluster: null,
        intervalMs: 10_000,
        kubeconfig: null,
        clusterNamespace: 'magnum-system',
        nodeName: null,
        nodeSelector: null,
        unknownNode: 'take-part',
        lockDirectory: null,
        daemonSet: null,
        takeOver: false,
        advertiseAddress: null,
        podIp: null,
        liveness: 'auto',
        propagationWaitMs: 5000,
        allowMassDelete: false,
        resourceTags: {},
        ignoredSelectorLabels: [],
        listen: { host: undefined, port: 6443 },
        admin: { host: '127.0.0.1', port: 9580 },
        healthListen: null,
        listenerPorts: { from: 17_000, to: 17_999 },
        handover: null,
        trustedProxies: null,
        health: { kind: 'tcp', intervalMs: 2000, timeoutMs: 1000, rise: 2, fall: 2 },
        engine: 'native',
        threads: 1,
        maxConnections: 8192,
        maxConnectionsPerCluster: 4096,
        maxPendingDials: 1024,
        helloTimeoutMs: 5000,
        connectTimeoutMs: 5000,
        deadPeerTimeoutMs: 120_000,
        drainTimeoutMs: 30_000,
        handoverDrainMs: 3_600_000,
        logLevel: 'info',
        logFormat: null,
      },
    });
  });

  const GOOD: readonly [
    flag: FlagName,
    value: string,
    pick: (config: RunConfig) => unknown,
    expected: unknown,
  ][] = [
    ['source', 'file:./clusters', (config) => config.source, { kind: 'file', directory: './clusters' }],
    ['namespace', 'other', (config) => config.namespace, 'other'],
    ['netns-dir', './netns', (config) => config.netnsDirectory, './netns'],
    ['netns-prefixes', 'tenant-, a.B_1-', (config) => config.netnsPrefixes, ['tenant-', 'a.B_1-']],
    ['proxy-always', 'true', (config) => config.proxyAlways, true],
    ['trust-spec-network', 'true', (config) => config.trustSpecNetwork, true],
    ['control-plane-machines', 'off', (config) => config.controlPlaneMachines, 'off'],
    ['default-cluster', 'kube-1', (config) => config.defaultCluster, 'kube-1'],
    ['interval', '100ms', (config) => config.intervalMs, 100],
    ['kubeconfig', 'etc/kubeconfig', (config) => config.kubeconfig, 'etc/kubeconfig'],
    ['cluster-namespace', '*', (config) => config.clusterNamespace, null],
    ['node-name', 'Net-1.example.org', (config) => config.nodeName, 'Net-1.example.org'],
    [
      'node-selector',
      '[{"key":"zone","operator":"In","values":["a"]}]',
      (config) => config.nodeSelector,
      [{ key: 'zone', operator: 'In', values: new Set(['a']) }],
    ],
    ['unknown-node', 'stay-out', (config) => config.unknownNode, 'stay-out'],
    ['lock-dir', '/run/isthmus', (config) => config.lockDirectory, '/run/isthmus'],
    [
      'daemonset',
      'isthmus/isthmus:7',
      (config) => config.daemonSet,
      { name: 'isthmus/isthmus', generation: 7 },
    ],
    ['take-over', 'true', (config) => config.takeOver, true],
    ['advertise-address', '2001:db8::1', (config) => config.advertiseAddress, '2001:db8::1'],
    ['liveness', 'timestamp', (config) => config.liveness, 'timestamp'],
    ['propagation-wait', '0s', (config) => config.propagationWaitMs, 0],
    ['allow-mass-delete', 'true', (config) => config.allowMassDelete, true],
    ['resource-tags', 'b=2, a=', (config) => config.resourceTags, { a: '', b: '2' }],
    ['ignored-selector-labels', 'hash, a.b/c', (config) => config.ignoredSelectorLabels, ['hash', 'a.b/c']],
    ['listen', '[::1]:0', (config) => config.listen, { host: '::1', port: 0 }],
    ['admin', 'localhost:1', (config) => config.admin, { host: '127.0.0.1', port: 1 }],
    ['health-listen', '*:9000', (config) => config.healthListen, { host: undefined, port: 9000 }],
    ['listener-ports', '1-1', (config) => config.listenerPorts, { from: 1, to: 1 }],
    ['handover', '/run/isthmus', (config) => config.handover, '/run/isthmus'],
    ['trust-proxy-protocol', '10.0.0.0/8, ::1', (config) => config.trustedProxies, ['10.0.0.0/8', '::1']],
    ['health', 'tls', (config) => config.health.kind, 'tls'],
    ['health-interval', '24h', (config) => config.health.intervalMs, 86_400_000],
    ['health-timeout', '1m', (config) => config.health.timeoutMs, 60_000],
    ['health-rise', '1', (config) => config.health.rise, 1],
    ['health-fall', '100', (config) => config.health.fall, 100],
    ['engine', 'streams', (config) => config.engine, 'streams'],
    ['threads', '2', (config) => config.threads, 2],
    ['max-connections', '1', (config) => config.maxConnections, 1],
    ['max-connections-per-cluster', '7', (config) => config.maxConnectionsPerCluster, 7],
    ['max-pending-dials', '100000', (config) => config.maxPendingDials, 100_000],
    ['hello-timeout', '10ms', (config) => config.helloTimeoutMs, 10],
    ['connect-timeout', '10m', (config) => config.connectTimeoutMs, 600_000],
    ['dead-peer-timeout', '0s', (config) => config.deadPeerTimeoutMs, 0],
    ['drain-timeout', '0ms', (config) => config.drainTimeoutMs, 0],
    ['handover-drain', '24h', (config) => config.handoverDrainMs, 86_400_000],
    ['log-level', 'trace', (config) => config.logLevel, 'trace'],
    ['log-format', 'json', (config) => config.logFormat, 'json'],
  ];

  test('every flag has a row below', () => {
    expect(GOOD.map(([name]) => name)).toEqual(FLAG_NAMES);
  });

  test.each(GOOD)(
    '--%s %s lands in its field, from a flag in either form and from its variable',
    (name, value, pick, expected) => {
      const others = name === 'source' ? [] : SOURCE;
      expect(pick(configOf(readConfig([...others, `--${name}=${value}`], {})))).toEqual(expected);
      expect(pick(configOf(readConfig(others, { [environmentName(name)]: value })))).toEqual(expected);
      if (FLAGS[name].placeholder !== '')
        expect(pick(configOf(readConfig([...others, `--${name}`, value], {})))).toEqual(expected);
    },
  );

  test.each<[form: string, args: string[], expected: boolean]>([
    ['alone means true', ['--proxy-always'], true],
    ['alone before another flag means true', ['--proxy-always', '--listen', '1'], true],
    ['=yes means true', ['--proxy-always=yes'], true],
    ['=ON means true', ['--proxy-always=ON'], true],
    ['=1 means true', ['--proxy-always=1'], true],
    ['=false means false', ['--proxy-always=false'], false],
    ['=No means false', ['--proxy-always=No'], false],
    ['=0 means false', ['--proxy-always=0'], false],
    ['= means false', ['--proxy-always='], false],
  ])('the switch --proxy-always%s', (_title, args, expected) => {
    expect(configOf(read(args)).proxyAlways).toBe(expected);
  });

  test('a value may contain =', () => {
    expect(configOf(readConfig(['--source=file:/a=b'], {})).source).toEqual({
      kind: 'file',
      directory: '/a=b',
    });
  });
});

describe('precedence', () => {
  const ALL = { ISTHMUS_LISTEN: '2', PROXY_PORT: '3', ISTHMUS_PROXY_ALWAYS: 'false', PROXY_ALWAYS: 'true' };
  const { ISTHMUS_LISTEN: _1, ISTHMUS_PROXY_ALWAYS: _2, ...LEGACY } = ALL;

  test.each<
    [title: string, args: string[], environment: Record<string, string>, port: number, always: boolean]
  >([
    ['a flag wins over everything', ['--listen', '1', '--proxy-always'], ALL, 1, true],
    ['a variable of ours wins over one of the old program', [], ALL, 2, false],
    ['a variable of the old program wins over the default', [], LEGACY, 3, true],
    ['without flag and variable the default applies', [], {}, 6443, false],
  ])('%s', (_title, args, environment, port, always) => {
    const config = configOf(read(args, environment));
    expect(config.listen.port).toBe(port);
    expect(config.proxyAlways).toBe(always);
  });

  test('an overridden value is not read and causes no warning', () => {
    const environment = { ISTHMUS_LISTEN: 'bad', PROXY_PORT: 'bad', PROXY_ALWAYS: '0' };
    expect(read(['--listen=1', '--proxy-always'], environment)).toMatchObject({ warnings: [] });
  });
});

describe('the command line', () => {
  const problem = (where: string, wanted: string, value: string | null = null) => ({ where, value, wanted });
  const noFlag = 'this is not a flag. Flags start with --';

  test.each<[title: string, args: string[], problems: ConfigProblem[]]>([
    [
      'a flag at the end without its value',
      ['--listen'],
      [problem('--listen', `a value is missing: ${ENDPOINT}`)],
    ],
    [
      'a flag whose value is the next flag',
      ['--netns-dir', '--log-level', 'info'],
      [problem('--netns-dir', 'a value is missing: a path, such as /run/netns')],
    ],
    [
      'a flag given twice',
      ['--listen=1', '--listen', '2'],
      [problem('--listen', 'this flag only once', '2')],
    ],
    [
      'a switch given twice',
      ['--proxy-always', '--proxy-always=false'],
      [problem('--proxy-always', 'this flag only once', 'false')],
    ],
    [
      'a misspelt flag',
      ['--lisen=1'],
      [problem('--lisen', 'this flag does not exist; did you mean --listen?')],
    ],
    [
      'a misspelt flag with its value apart',
      ['--lisen', '1', '--admin', '2'],
      [problem('--lisen', 'this flag does not exist; did you mean --listen?')],
    ],
    ['a flag that resembles no other', ['--verbose'], [problem('--verbose', 'this flag does not exist')]],
    [
      'an unknown flag before a known one',
      ['--verbose', '--listen', '1'],
      [problem('--verbose', 'this flag does not exist')],
    ],
    [
      'a flag named like a property of every object',
      ['--constructor=1'],
      [problem('--constructor', 'this flag does not exist')],
    ],
    ['a word', ['start'], [problem('start', noFlag)]],
    ['a single dash', ['-l'], [problem('-l', noFlag)]],
    ['dashes alone', ['--'], [problem('--', noFlag)]],
    ['no name', ['--=1'], [problem('--=1', noFlag)]],
    ['an empty word', [''], [problem('', noFlag)]],
    ['a value after a switch', ['--proxy-always', 'true'], [problem('true', noFlag)]],
  ])('%s is one problem', (_title, args, problems) => {
    expect(read(args)).toEqual({ problems });
  });

  test('the source without its value is one problem', () => {
    expect(readConfig(['--source'], {})).toEqual({
      problems: [problem('--source', `a value is missing: ${SOURCE_WANTED}`)],
    });
  });
});

describe('variables', () => {
  test.each<[variable: string, wanted: string]>([
    ['ISTHMUS_LISTN', 'this setting does not exist; did you mean ISTHMUS_LISTEN?'],
    ['ISTHMUS_NETNS_DIRECTORY', 'this setting does not exist'],
    ['ISTHMUS_', 'this setting does not exist'],
    ['ISTHMUS_LISTEN_PORT', 'this setting does not exist'],
  ])('%s is one problem', (variable, wanted) => {
    expect(read([], { [variable]: '1' })).toEqual({ problems: [{ where: variable, value: null, wanted }] });
  });

  test('variables of other programs, of the demo, the tests and the addon are ignored', () => {
    const environment = {
      PATH: '/bin',
      ISTHMUSX: '1',
      isthmus_listen: 'x',
      ISTHMUS_DEMO_FORWARDS: '{}',
      ISTHMUS_TEST_X: '1',
      ISTHMUS_ADDON: '/x',
    };
    expect(problemsOf(read([], environment))).toEqual([]);
  });

  test('the variables that Kubernetes sets for Services named isthmus… are not settings', () => {
    // https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
    const environment = {
      ISTHMUS_SERVICE_HOST: '10.0.0.11',
      ISTHMUS_SERVICE_PORT: '6443',
      ISTHMUS_SERVICE_PORT_HTTPS: '6443',
      ISTHMUS_PORT: 'tcp://10.0.0.11:6443',
      ISTHMUS_PORT_6443_TCP: 'tcp://10.0.0.11:6443',
      ISTHMUS_PORT_6443_TCP_PROTO: 'tcp',
      ISTHMUS_PORT_6443_TCP_PORT: '6443',
      ISTHMUS_PORT_6443_TCP_ADDR: '10.0.0.11',
      ISTHMUS_ADMIN_SERVICE_HOST: '10.0.0.12',
      ISTHMUS_ADMIN_PORT: 'udp://10.0.0.12:9580',
    };
    expect(problemsOf(read([], environment))).toEqual([]);
  });
});

describe('contradictions', () => {
  test.each<[title: string, args: string[], where: string[]]>([
    ['clients and admin on one port of all addresses', ['--listen=7000', '--admin=7000'], ['--admin']],
    [
      'clients everywhere, admin on one address of it',
      ['--listen=7000', '--admin=127.0.0.1:7000'],
      ['--admin'],
    ],
    [
      'clients on 0.0.0.0, admin on one address of it',
      ['--listen=0.0.0.0:7000', '--admin=127.0.0.1:7000'],
      ['--admin'],
    ],
    [
      'clients on ::, which takes IPv4 as well',
      ['--listen=[::]:7000', '--admin=127.0.0.1:7000'],
      ['--admin'],
    ],
    [
      'admin and health on the same',
      ['--admin=127.0.0.1:7000', '--health-listen=127.0.0.1:7000'],
      ['--health-listen'],
    ],
    [
      'all three on one port',
      ['--listen=7', '--admin=7', '--health-listen=7'],
      ['--admin', '--health-listen', '--health-listen'],
    ],
    [
      'one port on two addresses is no contradiction',
      ['--listen=127.0.0.1:7000', '--admin=127.0.0.2:7000'],
      [],
    ],
    ['0.0.0.0 and an IPv6 address are no contradiction', ['--listen=0.0.0.0:7000', '--admin=[::1]:7000'], []],
    ['port 0 twice is no contradiction', ['--listen=0', '--admin=0', '--health-listen=0'], []],
  ])('%s', (_title, args, where) => {
    const problems = problemsOf(read(args));
    expect(problems.map((problem) => problem.where)).toEqual(where);
    for (const { value, wanted } of problems) {
      expect(args.join(' ')).toContain(`${value}`);
      expect(wanted).toMatch(/^a port other than that of --(listen|admin)$/);
    }
  });
});

describe('ports of listeners', () => {
  test('an empty value means no ports, and a range includes both ends', () => {
    const range = (...args: string[]) => {
      const result = read(args);
      return 'config' in result ? result.config.listenerPorts : result;
    };
    expect(range()).toEqual({ from: 17_000, to: 17_999 });
    expect(range('--listener-ports=')).toBeNull();
    expect(range('--listener-ports', '20000-20000')).toEqual({ from: 20_000, to: 20_000 });
  });

  test('every configured port inside the range is named', () => {
    const args = ['--listener-ports=7000-7002', '--listen=7000', '--admin=7002', '--health-listen=7001'];
    expect(problemsOf(read(args)).map(({ where, wanted }) => `${where}: ${wanted}`)).toEqual([
      '--listener-ports: a range without 7000, the port of --listen',
      '--listener-ports: a range without 7002, the port of --admin',
      '--listener-ports: a range without 7001, the port of --health-listen',
    ]);
  });

  test('the default range never conflicts with a port, and port 0 is in no range', () => {
    expect(problemsOf(read(['--listen=17500']))).toEqual([]);
    expect(problemsOf(read(['--listen=0', '--listener-ports=1-65535', '--admin=0']))).toEqual([]);
  });
});

test('all problems are reported at once, not only the first', () => {
  const args = ['--nope', '--health-rise=0', '--interval', '--source'];
  const problems = problemsOf(
    readConfig(args, { ISTHMUS_HEALTH: 'udp', ISTHMUS_WRONG: '1', PROXY_PORT: 'x', POD_IP: 'y' }),
  );
  expect(problems.map(({ where }) => where).sort()).toEqual([
    '--health-rise',
    '--interval',
    '--nope',
    '--source',
    'ISTHMUS_HEALTH',
    'ISTHMUS_WRONG',
    'POD_IP',
    'PROXY_PORT',
  ]);
});

describe('problems as text', () => {
  test('one problem is shown with its value and the wanted form', () => {
    const problem = { where: '--admin', value: 'a "b"', wanted: 'a port' };
    expect(formatProblems([problem])).toBe(
      'One problem with the configuration:\n  --admin: "a \\"b\\"" is not valid. Use a port\n\n' +
        'isthmus run --help explains every flag.',
    );
  });

  test('several problems are listed, and control characters in a value cannot move the cursor', () => {
    const text = formatProblems([
      { where: '--interval', value: null, wanted: 'a value is missing' },
      { where: '--health', value: '\u001b[2J', wanted: 'one of tcp, tls' },
    ]);
    expect(text.split('\n').slice(0, 3)).toEqual([
      '2 problems with the configuration:',
      '  --interval: a value is missing',
      '  --health: "\\u001b[2J" is not valid. Use one of tcp, tls',
    ]);
  });
});

test('the configuration never throws, and each rejection says why', () => {
  const name = fc.oneof(fc.constantFrom<string>(...FLAG_NAMES), fc.string());
  const value = fc.oneof(
    fc.string(),
    fc.constantFrom('1', '5s', '::1', '[::1]:1', 'file:/x', '10.0.0.0/8', 'true'),
  );
  const arg = fc.oneof(
    fc.string(),
    value,
    name.map((flag) => `--${flag}`),
    fc.tuple(name, value).map(([flag, text]) => `--${flag}=${text}`),
  );
  const variable = fc.oneof(
    fc.constantFrom(
      ...FLAG_NAMES.map(environmentName),
      'PROXY_PORT',
      'PROXY_BIND',
      'PROXY_ALWAYS',
      'KUBECONFIG',
      'POD_IP',
      'NODE_NAME',
      '__proto__',
    ),
    fc.string().map((text) => `ISTHMUS_${text}`),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(arg), fc.dictionary(variable, value), (args, environment) => {
      const result = readConfig(args, environment);
      if ('config' in result) {
        expect(Number.isInteger(result.config.listen.port)).toBe(true);
        return;
      }
      expect(result.problems.length).toBeGreaterThan(0);
      for (const problem of result.problems) expect(problem.wanted).not.toBe('');
      expect(formatProblems(result.problems).split('\n').length).toBeGreaterThanOrEqual(
        result.problems.length + 3,
      );
    }),
    { numRuns: 500 },
  );
});
