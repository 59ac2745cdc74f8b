import { describe, expect, test } from 'vitest';
import { type ConfigResult, formatProblems, type RunConfig, readConfig } from './config.ts';
import { flagReference } from './flags.ts';

const SOURCE = ['--source', 'file:/etc/isthmus/clusters'];
const ENDPOINT =
  'a port or <address>:<port>, such as 6443, 127.0.0.1:6443 or [::1]:6443 (port 0 takes any free one)';

function configOf(result: ConfigResult): RunConfig {
  if ('problems' in result) expect.fail(formatProblems(result.problems));
  return result.config;
}

const read = (args: readonly string[], environment: Record<string, string> = {}) =>
  readConfig([...SOURCE, ...args], environment);

const MACHINE = { directoryProblem: () => null, readText: () => ({ wanted: 'a file that exists' }) };

describe('the environment of the program we replace', () => {
  test.each<[title: string, environment: Record<string, string>, listen: RunConfig['listen']]>([
    ['a port alone listens everywhere', { PROXY_PORT: '8443' }, { host: undefined, port: 8443 }],
    ['an address alone has the default port', { PROXY_BIND: '10.0.0.1' }, { host: '10.0.0.1', port: 6443 }],
    ['both', { PROXY_PORT: '8443', PROXY_BIND: '10.0.0.1' }, { host: '10.0.0.1', port: 8443 }],
    ['everywhere, as * has it', { PROXY_BIND: '*' }, { host: undefined, port: 6443 }],
    [
      'an empty address listens everywhere',
      { PROXY_BIND: '', PROXY_PORT: '1' },
      { host: undefined, port: 1 },
    ],
    ['an IPv6 address', { PROXY_BIND: 'fd00::1' }, { host: 'fd00::1', port: 6443 }],
    ['an IPv6 address in brackets', { PROXY_BIND: '[::]', PROXY_PORT: '1' }, { host: '::', port: 1 }],
  ])('%s', (_title, environment, listen) => {
    expect(configOf(read([], environment)).listen).toEqual(listen);
  });

  test.each<[environment: Record<string, string>, where: string, value: string]>([
    [{ PROXY_PORT: 'https' }, 'PROXY_PORT', 'https'],
    [{ PROXY_PORT: '' }, 'PROXY_PORT', ''],
    [{ PROXY_BIND: 'example.org' }, 'PROXY_BIND', 'example.org:6443'],
    [{ PROXY_BIND: 'fd00::g' }, 'PROXY_BIND', '[fd00::g]:6443'],
    [{ PROXY_BIND: '10.0.0.1', PROXY_PORT: '70000' }, 'PROXY_PORT and PROXY_BIND', '10.0.0.1:70000'],
  ])('%o is one problem', (environment, where, value) => {
    expect(read([], environment)).toEqual({ problems: [{ where, value, wanted: ENDPOINT }] });
  });

  test.each<[value: string, always: boolean, warnings: number]>([
    ['1', true, 0],
    ['true', true, 0],
    ['yes', true, 0],
    ['on', true, 0],
    ['0', false, 1],
    ['false', false, 1],
    ['No', false, 1],
    ['off', false, 1],
    ['', false, 1],
  ])('PROXY_ALWAYS=%s means %s, with %i warnings', (value, always, warnings) => {
    const result = read([], { PROXY_ALWAYS: value });
    expect(configOf(result).proxyAlways).toBe(always);
    const warning = `PROXY_ALWAYS=${value} means false here; magnum-cluster-api-proxy took any value for true`;
    expect('warnings' in result && result.warnings).toEqual(new Array(warnings).fill(warning));
  });

  test.each(['sure', '2', 'falsch', ' ', '\u001b[2J'])(
    'PROXY_ALWAYS=%j means true, as it always did, and is warned of once',
    (value) => {
      const result = read([], { PROXY_ALWAYS: value });
      expect(configOf(result).proxyAlways).toBe(true);
      expect('warnings' in result && result.warnings).toEqual([
        `PROXY_ALWAYS=${JSON.stringify(value)} means true, as any value did for magnum-cluster-api-proxy; write true or false`,
      ]);
    },
  );

  test.each<[title: string, environment: Record<string, string>, expected: Partial<RunConfig>]>([
    [
      'POD_IP is the address of the pod',
      { POD_IP: '192.0.2.7' },
      { podIp: '192.0.2.7', advertiseAddress: null },
    ],
    ['POD_IP may be IPv6', { POD_IP: 'fd00::7' }, { podIp: 'fd00::7' }],
    ['NODE_NAME is the name of the node', { NODE_NAME: 'net-1' }, { nodeName: 'net-1' }],
    ['KUBECONFIG is the kubeconfig', { KUBECONFIG: '/a/b' }, { kubeconfig: '/a/b' }],
    [
      'an empty variable counts as unset',
      { POD_IP: '', NODE_NAME: '', KUBECONFIG: '' },
      { podIp: null, nodeName: null, kubeconfig: null },
    ],
    [
      'a variable of ours wins',
      {
        POD_IP: 'bad',
        ISTHMUS_ADVERTISE_ADDRESS: '192.0.2.8',
        NODE_NAME: 'a',
        ISTHMUS_NODE_NAME: 'b',
        KUBECONFIG: '/x:/y',
        ISTHMUS_KUBECONFIG: '/z',
      },
      { podIp: null, advertiseAddress: '192.0.2.8', nodeName: 'b', kubeconfig: '/z' },
    ],
  ])('%s', (_title, environment, expected) => {
    const result = readConfig([], environment);
    expect(configOf(result)).toMatchObject(expected);
    expect(result).toMatchObject({ warnings: [] });
  });

  test('a POD_IP that is not an address is a problem', () => {
    expect(readConfig([], { POD_IP: 'pod' })).toEqual({
      problems: [
        { where: 'POD_IP', value: 'pod', wanted: 'an IP address, such as 192.0.2.10 or 2001:db8::10' },
      ],
    });
  });

  test('of several files in KUBECONFIG the first that exists is read, with a warning', () => {
    const machine = { ...MACHINE, isFile: (path: string) => path === '/b' };
    expect(readConfig([], { KUBECONFIG: '/a:/b:/c' }, machine)).toMatchObject({
      config: { kubeconfig: '/b' },
      warnings: ['KUBECONFIG names 3 files; only "/b" is read'],
    });
    expect(readConfig([], { KUBECONFIG: '/b:' }, machine)).toMatchObject({
      config: { kubeconfig: '/b' },
      warnings: [],
    });
    expect(readConfig([], { KUBECONFIG: ':' }, machine)).toMatchObject({ config: { kubeconfig: null } });
  });

  test('a kubeconfig that does not exist is a problem, wherever it was named', () => {
    const machine = { ...MACHINE, isFile: () => false };
    const wanted = 'a file that exists';
    expect(readConfig(['--kubeconfig=/k'], {}, machine)).toEqual({
      problems: [{ where: '--kubeconfig', value: '/k', wanted }],
    });
    expect(readConfig([], { KUBECONFIG: '/a:/b' }, machine)).toEqual({
      problems: [{ where: 'KUBECONFIG', value: '/a', wanted }],
    });
  });

  test('with --source file: the Kubernetes variables of the shell are ignored', () => {
    const machine = { ...MACHINE, isFile: () => false };
    const environment = { KUBECONFIG: '/a:/b', POD_IP: 'pod' };
    expect(readConfig(SOURCE, environment, machine)).toMatchObject({
      config: { kubeconfig: null, podIp: null },
      warnings: [],
    });
  });
});

describe('the namespace of the clusters', () => {
  test.each<[title: string, args: string[], expected: string | null]>([
    ['is that of the Services', ['--namespace=other'], 'other'],
    ['may be another', ['--namespace=other', '--cluster-namespace=third'], 'third'],
    ['may be all of them', ['--cluster-namespace=*'], null],
  ])('%s', (_title, args, expected) => {
    expect(configOf(readConfig(args, {})).clusterNamespace).toBe(expected);
  });
});

test('the table of flags names every variable of another program that the configuration reads', () => {
  const readNames = new Set<string>();
  const environment = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => {
        readNames.add(String(name));
        return undefined;
      },
    },
  );
  readConfig([], environment);
  const others = [...readNames].filter((name) => !name.startsWith('ISTHMUS_'));
  expect(others.sort()).toEqual(
    flagReference()
      .flatMap(({ otherVariables }) => otherVariables)
      .sort(),
  );
});
