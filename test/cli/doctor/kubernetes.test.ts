// `isthmus doctor` against the in-memory management API: its output without problems, and with exactly one problem.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/cli/config/config.ts';
import { type DoctorOptions, doctor } from '../../../src/cli/doctor/doctor.ts';
import { neededRights } from '../../../src/control/objects/needed-rights.ts';
import { selfSigned } from '../../support/certificates.ts';
import { Management, NAMESPACE } from '../../support/kubernetes/management.ts';
import { makeNetns } from '../../support/network/netns.ts';

const NODE = 'net-1';
const USER = `system:isthmus:${NODE}`;
const TOKEN = `token-of-${NODE}`;

interface Report {
  readonly code: number;
  readonly text: string;
  readonly checks: Readonly<Record<string, { result: string; found: string; fix: string | null }>>;
}

let netns: ReturnType<typeof makeNetns>;
let management: Management;
let kubeconfig: string;

beforeAll(() => {
  netns = makeNetns({ name: `qdhcp-${randomUUID()}` });
});
afterAll(() => netns.remove());
beforeEach(async () => {
  management = await Management.start();
  kubeconfig = management.instance(NODE).environment.KUBECONFIG as string;
});
afterEach(() => management.stop());

interface AskOptions extends Pick<DoctorOptions, 'wallNow' | 'patienceMs'> {
  readonly flags?: readonly string[];
  readonly listen?: string;
}

async function ask({ flags: more = [], listen = '0', ...options }: AskOptions = {}): Promise<Report> {
  const flags = ['--advertise-address', '192.0.2.1', '--listen', listen, '--admin', '127.0.0.1:0'];
  const environment = { KUBECONFIG: kubeconfig, NODE_NAME: NODE };
  const read = readConfig([...flags, ...more], environment);
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  let text = '';
  const code = await doctor({
    ...read,
    environment,
    version: '0.0.0',
    json: true,
    print: (part) => {
      text += part;
    },
    tell: () => {},
    ...options,
  });
  const { checks } = JSON.parse(text) as { checks: (Report['checks'][string] & { check: string })[] };
  return { code, text, checks: Object.fromEntries(checks.map(({ check, ...rest }) => [check, rest])) };
}

const problems = ({ checks }: Report): string[] =>
  Object.entries(checks)
    .filter(([, { result }]) => result === 'problem')
    .map(([name]) => name);

/** Exactly the rights of the table, without one verb. */
function allowAllBut(resource: string | null, verb: string | null): void {
  const rules = neededRights({ namespace: NAMESPACE, clusterNamespace: NAMESPACE }).map((right) => ({
    apiGroups: [right.group],
    resources: [right.resource],
    verbs: right.verbs.filter((each) => right.resource !== resource || each !== verb),
    namespace: NAMESPACE,
  }));
  management.api.access.set(USER, rules);
}

describe('a healthy installation', () => {
  test('passes every check and shows no secret', async () => {
    const report = await ask();
    expect(problems(report)).toEqual([]);
    expect(report.code).toBe(0);
    expect(Object.keys(report.checks)).toEqual([
      'configuration',
      'node',
      'date',
      'addon',
      'setns',
      'netns',
      'descriptors',
      'listen',
      'admin',
      'address',
      'credentials',
      'api',
      'clock',
      'login',
      'crd',
      'namespace',
      'rights',
      'node-name',
    ]);
    expect(report.checks).toMatchObject({
      netns: { found: expect.stringMatching(/ \d+ of them named/) },
      address: { found: 'clients connect to 192.0.2.1 (from --advertise-address)' },
      api: { found: expect.stringMatching(/is reached, and its certificate is trusted: Kubernetes v/) },
      clock: { result: 'ok' },
      login: { found: `authenticated as ${USER}` },
      crd: { found: expect.stringContaining('is served, and read in v1beta') },
      namespace: { found: `${NAMESPACE} exists` },
      rights: { found: expect.stringMatching(/^all \d+ needed rights are granted$/) },
      'node-name': { result: 'ok' },
    });
    expect(report.text).not.toContain(TOKEN);
  });

  test('is not changed by the doctor', async () => {
    const before = management.api.store.revision;
    allowAllBut(null, null);
    await ask();
    expect(management.api.store.revision).toBe(before);
  });

  test('passes with exactly the rights of the table, which do not allow it to read the namespace', async () => {
    allowAllBut(null, null);
    const report = await ask();
    expect(problems(report)).toEqual([]);
    expect(report.checks.namespace).toMatchObject({ result: 'ok', found: `${NAMESPACE} exists` });
  });
});

describe('a missing right', () => {
  const each = neededRights({ namespace: NAMESPACE, clusterNamespace: NAMESPACE }).flatMap((right) =>
    right.verbs.map((verb) => [verb, right.resource, right.group] as const),
  );
  test.each(each)('%s %s is named exactly', async (verb, resource, group) => {
    allowAllBut(resource, verb);
    const report = await ask();
    expect(problems(report)).toEqual(['rights']);
    const shown = group === '' ? resource : `${resource}.${group}`;
    expect(report.checks.rights?.found).toBe(`${USER} may not ${verb} ${shown} in ${NAMESPACE}`);
    expect(report.checks.rights?.fix).toContain('Role');
    expect(report.code).toBe(1);
  });

  test('is checked in all namespaces when the instance works in all namespaces', async () => {
    allowAllBut(null, null);
    const report = await ask({ flags: ['--cluster-namespace', '*'] });
    expect(report.checks.rights?.found).toContain(
      'list, watch openstackclusters.infrastructure.cluster.x-k8s.io in all namespaces',
    );
    expect(report.checks.rights?.found).toContain('secrets in all namespaces');
    expect(report.checks.rights?.found).not.toContain('services');
  });
});

describe('an API server', () => {
  test('that is down is the only problem, and the doctor skips the other checks', async () => {
    await management.api.stop();
    const report = await ask();
    expect(problems(report)).toEqual(['api']);
    expect(report.checks.api).toMatchObject({
      found: expect.stringContaining('ECONNREFUSED'),
      fix: expect.stringContaining('Nothing listens there'),
    });
    expect(report.checks.rights).toMatchObject({ result: 'skipped', found: 'not checked, because of login' });
  });

  test('that never answers fails the check within the time limit', async () => {
    management.api.faults.inject({ path: /^\/version/ }, { kind: 'hang' });
    const begin = performance.now();
    const report = await ask();
    expect(performance.now() - begin).toBeLessThan(60_000);
    expect(problems(report)).toEqual(['api']);
    expect(report.checks.api?.found).toContain('does not answer');
  });

  test('with a certificate of another authority is not trusted', async () => {
    const other = selfSigned('other', '127.0.0.1').cert.toString('base64');
    const text = management.api.kubeconfig(USER);
    writeFileSync(
      kubeconfig,
      text.replace(/certificate-authority-data": ?"[^"]+"|certificate-authority-data: \S+/, (found) =>
        found.replace(/[A-Za-z0-9+/=]{40,}/, other),
      ),
    );
    const report = await ask();
    expect(problems(report)).toEqual(['api']);
    expect(report.checks.api?.fix).toContain('certificate-authority');
  });

  test('that rejects the token is reported, with the credential to renew', async () => {
    management.api.tokens.delete(TOKEN);
    const report = await ask();
    expect(problems(report)).toEqual(['login']);
    expect(report.checks.api).toMatchObject({ result: 'ok' });
    expect(report.checks.login).toMatchObject({
      found: expect.stringMatching(/refuses user .* \(401\)$/),
      fix: expect.stringContaining('Renew'),
    });
    expect(report.text).not.toContain(TOKEN);
  });

  test('that treats the request as anonymous is reported as missing credentials', async () => {
    const text = management.api.kubeconfig(USER);
    writeFileSync(kubeconfig, text.replace(/"?token"?: ?"?[\w-]+"?/, '"username": null'));
    const report = await ask();
    expect(problems(report)).toEqual(['login']);
    expect(report.checks.login?.found).toContain('system:anonymous');
  });

  test.each([
    [-60_000, 'behind'],
    [60_000, 'ahead of'],
  ])('whose clock differs by %i ms causes a warning', async (offsetMs, how) => {
    const { checks, code } = await ask({ wallNow: () => Date.now() + offsetMs });
    const found = new RegExp(`^this host is (\\d+) s ${how} the API server$`).exec(checks.clock?.found ?? '');
    expect([checks.clock?.result, checks.clock?.found]).toEqual(['warning', found?.[0]]);
    // The offset is exact to the second if the answer is fast: half of the request time is its error.
    expect(Math.abs(Number(found?.[1]) - 60)).toBeLessThanOrEqual(20);
    expect(code).toBe(0);
  });

  test('without the namespace is reported, with or without the right to read namespaces', async () => {
    const flags = ['--namespace', 'elsewhere'];
    const one = await ask({ flags });
    expect(one.checks.namespace).toMatchObject({
      result: 'problem',
      found: 'there is no namespace elsewhere',
    });
    const verbs = ['create', 'get', 'list', 'watch', 'patch', 'delete'];
    management.api.access.set(USER, [{ apiGroups: ['*'], resources: ['leases'], verbs }]);
    expect((await ask({ flags })).checks.namespace).toEqual(one.checks.namespace);
  });
});

describe('the definition of OpenStackClusters', () => {
  test('that is missing is a problem with two solutions', async () => {
    await management.stop();
    management = await Management.start({ withoutDefinitions: true });
    kubeconfig = management.instance(NODE).environment.KUBECONFIG as string;
    const report = await ask();
    expect(problems(report)).toEqual(['crd']);
    expect(report.checks.crd?.found).toContain('is not installed');
  });
});

describe('a published address that is not --listen', () => {
  test('causes a warning, because a forwarder may use it but a mistake is more likely', async () => {
    const { checks, code } = await ask({ listen: '127.0.0.1:0' });
    expect(checks.address).toEqual({
      result: 'warning',
      found:
        'clients connect to 192.0.2.1 (from --advertise-address), but this instance listens at 127.0.0.1 only',
      fix: 'Use --listen with a port only, which means all addresses.',
    });
    expect(code).toBe(0);
  });

  test('causes no warning if the listener covers that address', async () => {
    for (const listen of ['192.0.2.1:0', '0.0.0.0:0', '[::]:0'])
      expect((await ask({ listen })).checks.address?.result).toBe('ok');
  });
});

describe('credentials', () => {
  test.each([
    ['not YAML', '{{{ token: abcdef-secret'],
    ['not a kubeconfig', 'a: b'],
  ])('in a file that is %s are a problem, and the file is not quoted', async (_what, text) => {
    writeFileSync(kubeconfig, text);
    const report = await ask();
    expect(problems(report)).toEqual(['credentials']);
    expect(report.checks.credentials?.found).toContain(kubeconfig);
    expect(report.text).not.toContain('abcdef-secret');
  });

  test('with a missing token file are a problem that names the file', async () => {
    const tokenFile = join(management.directory, 'no-such-token');
    const text = management.api.kubeconfig(USER);
    writeFileSync(kubeconfig, text.replace(/"?token"?: ?"?[\w-]+"?/, `"tokenFile": "${tokenFile}"`));
    const report = await ask();
    expect(problems(report)).toEqual(['credentials']);
    expect(report.checks.credentials?.found).toContain(tokenFile);
  });
});

describe('another instance', () => {
  const LEASE = {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    ...{ name: `isthmus-${NODE}`, namespace: NAMESPACE },
  };
  const spec = () => ({
    holderIdentity: `${NODE}/0123`,
    leaseDurationSeconds: 30,
    renewTime: new Date().toISOString().replace('Z', '000Z'),
  });
  const held = () => {
    const { name, namespace, ...kind } = LEASE;
    management.api.store.create({ ...kind, metadata: { name, namespace }, spec: spec() });
  };

  test('that renews the Lease of this node from this host is a problem, and the doctor says what to change', async () => {
    held();
    const timer = setInterval(() => {
      const { metadata } = management.api.store.get(LEASE) as { metadata: object };
      const { name: _name, namespace: _namespace, ...kind } = LEASE;
      management.api.store.update({ ...kind, metadata, spec: spec() });
    }, 300);
    try {
      const report = await ask({ patienceMs: 20_000 });
      expect(report.checks['node-name']).toMatchObject({
        result: 'problem',
        found: expect.stringContaining(
          `another isthmus on this host uses this name too: ${NODE}/0123 renews`,
        ),
        fix: expect.stringContaining('Let one of them run'),
      });
      expect(report.code).toBe(1);
    } finally {
      clearInterval(timer);
    }
  });

  test('that has just crashed is no problem', async () => {
    held();
    const report = await ask({ patienceMs: 600 });
    expect(report.checks['node-name']).toMatchObject({
      result: 'ok',
      found: expect.stringMatching(/^\S+: its Lease was held by \S+\/0123, .* seems to have ended$/),
    });
    expect(report.code).toBe(0);
  });
});
