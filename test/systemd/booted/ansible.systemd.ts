// The role of deploy/ansible on a host with the old proxy: it installs Isthmus beside it, stops the old one when Isthmus serves, and goes
// back. Clients connect all the time to an address that the EndpointSlices offer, as they do through kube-proxy.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { ClientTraffic } from '../../support/traffic.ts';
import { ADDRESS, BootedSite, type Tenant } from './booted-site.ts';
import { type Answer, FIRST, MACHINE_ADDRESS, NEXT } from './machine.ts';

const ROLE = fileURLToPath(new URL('../../../deploy/ansible', import.meta.url));
const OLD = 'magnum-cluster-api-proxy';
const OLD_PORT = 44_355;
const VARIABLES = {
  magnum_capi_vexxhost_proxy_hosts: 'all',
  magnum_capi_vexxhost_proxy_environment: { PROXY_BIND: MACHINE_ADDRESS, PROXY_PORT: OLD_PORT },
  isthmus_deb: FIRST,
  ansible_become: false,
  ansible_python_interpreter: '/usr/bin/python3',
};

let site: BootedSite;
let alpha: Tenant;
beforeAll(async () => {
  site = await BootedSite.start([
    `${process.env.ISTHMUS_TEST_ANSIBLE}:/opt/ansible`,
    `${ROLE}:/opt/isthmus-ansible`,
  ]);
  alpha = await site.addTenant('alpha');
  const { machine } = site;
  machine.write('/var/lib/capi_proxy/.kube/config', site.kubeconfig(), 0o600);
  machine.write('/opt/old-proxy.py', readFileSync(new URL('old-proxy.py', import.meta.url), 'utf8'));
  machine.write(
    `/etc/systemd/system/${OLD}.service`,
    `[Service]\nExecStart=/usr/bin/python3 /opt/old-proxy.py alpha ${alpha.netns} ${ADDRESS}\n` +
      `Environment=PROXY_BIND=${MACHINE_ADDRESS} PROXY_PORT=${OLD_PORT}\n[Install]\nWantedBy=multi-user.target\n`,
  );
  await machine.sh(`systemctl daemon-reload; systemctl enable --now ${OLD}`);
  await until('the old proxy has published its slice', () => places().length === 1);
});
afterAll(() => site?.stop());

interface Slice {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: { ready?: boolean };
  }[];
  readonly ports: readonly { readonly port: number }[];
}

/** Where kube-proxy sends clients of alpha. */
function places(): { host: string; port: number }[] {
  const slices = site.management.api.store.list({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    namespace: 'magnum-system',
  }) as unknown as readonly Slice[];
  return slices
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'alpha')
    .flatMap(({ endpoints, ports }) =>
      endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .map(({ addresses }) => ({ host: addresses[0] as string, port: ports[0]?.port as number })),
    );
}

const ports = () =>
  places()
    .map(({ port }) => port)
    .sort((a, b) => a - b);

async function clients(): Promise<ClientTraffic> {
  const traffic = new ClientTraffic(() => {
    const all = places();
    const place = all[Math.floor(Math.random() * all.length)];
    if (place === undefined) throw new Error('no EndpointSlice has a ready endpoint');
    return { ...place, cluster: alpha };
  });
  traffic.visitors(2);
  await traffic.goesOn(20);
  return traffic;
}

function play(variables: object = {}, ...flags: readonly string[]): Promise<Answer> {
  site.machine.write('/run/variables.json', JSON.stringify({ ...VARIABLES, ...variables }));
  const command = 'python3 -m ansible playbook -i localhost, -c local -e @/run/variables.json playbook.yml';
  const environment =
    'HOME=/root PYTHONPATH=/opt/ansible PYTHONPYCACHEPREFIX=/var/cache/python ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=0';
  return site.machine.run(
    ...['setsid', '--wait', 'sh', '-c'],
    `echo $$ >/run/play.pid; cd /opt/isthmus-ansible; ${environment} ${command} "$@" 2>&1`,
    'sh',
    ...flags,
  );
}

/** Begins the play and kills it when it has stopped the main process of the old proxy, as the loss of the connection to the host does. */
async function interruptedPlay(): Promise<void> {
  const running = play();
  await until('the play has stopped the old proxy with SIGSTOP', async () => /^T/.test(await oldProcess()));
  await site.machine.sh('kill -s KILL -- -$(cat /run/play.pid)');
  expect((await running).status).not.toBe(0);
  expect(await oldProcess()).toMatch(/^T/);
  expect(await state(OLD)).toEqual({ ActiveState: 'active', UnitFileState: 'enabled' });
}

/** How many tasks changed something in a run that succeeded. */
async function changes(variables: object = {}, ...flags: readonly string[]): Promise<number> {
  const { status, stdout } = await play(variables, ...flags);
  if (status !== 0) throw new Error(`exit code ${status}: ${stdout.slice(-4000)}`);
  return Number(/changed=(\d+)/.exec(stdout)?.[1]);
}

/** The state of the main process of the old proxy, a letter as in proc(5). */
async function oldProcess(): Promise<string> {
  const { MainPID } = await site.machine.show(OLD, 'MainPID');
  return site.machine.sh(`sed -n 's/^State:\\t//p' /proc/${MainPID}/status`);
}

/** The unit of the old proxy is active, its main process is not stopped by SIGSTOP, and none of these clients was lost. */
async function oldServes(traffic: ClientTraffic): Promise<void> {
  expect(await state(OLD)).toEqual({ ActiveState: 'active', UnitFileState: 'enabled' });
  expect(await oldProcess()).toMatch(/^[SRD]/);
  await traffic.goesOn(20);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
}

const state = async (unit: string) => site.machine.show(unit, 'ActiveState', 'UnitFileState');

test.each<[what: string, variables: object, message: string]>([
  ['a port that is no number', { isthmus_port: 'https' }, 'isthmus_port: \\"https\\" is not a port'],
  ['a port out of range', { isthmus_port: 70_000 }, 'isthmus_port: 70000 is not a port'],
  [
    'the port of the old proxy',
    { isthmus_port: OLD_PORT },
    `isthmus_port: ${OLD_PORT} is the port of the old proxy`,
  ],
  [
    'an address that is none',
    { isthmus_bind: 'eth0' },
    'isthmus_bind (PROXY_BIND): \\"eth0\\" is not an address',
  ],
  [
    'an environment that is no mapping',
    { magnum_capi_vexxhost_proxy_environment: 'PROXY_PORT=1' },
    'magnum_capi_vexxhost_proxy_environment: \\"PROXY_PORT=1\\" is not a mapping',
  ],
  [
    'a name that is no variable',
    { isthmus_settings: { 'log-level': 'debug' } },
    '\\"log-level\\" is not the name of a variable',
  ],
  [
    'a setting of the role',
    { isthmus_settings: { ISTHMUS_LISTEN: '1' } },
    'isthmus_settings: ISTHMUS_LISTEN is set by the role',
  ],
  ['a value with a quote', { isthmus_settings: { TZ: "a'b" } }, 'TZ: \\"a\'b\\" has a single quote'],
  [
    'a time that is no number',
    { isthmus_stale_seconds: 'soon' },
    'isthmus_stale_seconds: \\"soon\\" is not a number',
  ],
  [
    'a kubeconfig that does not exist',
    { isthmus_old_kubeconfig: '/none' },
    '/none does not exist. Set isthmus_old_kubeconfig',
  ],
  [
    'the kubeconfig of another user of os_magnum that does not exist',
    { magnum_capi_vexxhost_proxy_system_user_name: 'other' },
    '/var/lib/other/.kube/config does not exist',
  ],
  [
    'the kubeconfig in another home of os_magnum that does not exist',
    { magnum_capi_vexxhost_proxy_system_user_home: '/srv/proxy' },
    '/srv/proxy/.kube/config does not exist',
  ],
])('the role refuses %s, and names it', async (_what, variables, message) => {
  const { status, stdout } = await play(variables);
  expect(status).not.toBe(0);
  expect(stdout).toContain(message);
  expect((await site.machine.run('dpkg', '-s', 'isthmus')).status).not.toBe(0);
});

test('--check on a host without the package says what would change, and changes nothing', async () => {
  expect(await changes({}, '--check')).toBeGreaterThan(0);
  expect((await site.machine.run('dpkg', '-s', 'isthmus')).status).not.toBe(0);
  expect(await state(OLD)).toEqual({ ActiveState: 'active', UnitFileState: 'enabled' });
  expect(ports()).toEqual([OLD_PORT]);
});

test('the old proxy continues if the doctor finds a problem', async () => {
  const { status, stdout } = await play({ isthmus_old_kubeconfig: '/etc/hostname' });
  expect(status).not.toBe(0);
  expect(stdout).toContain('isthmus doctor found problems, and the old proxy was not stopped');
  expect((await state(OLD)).ActiveState).toBe('active');
});

test('the old proxy continues if Isthmus serves no cluster, and the role says why', async () => {
  const traffic = await clients();
  const { status, stdout } = await play({
    isthmus_settings: { ISTHMUS_NETNS_DIR: '/run/no-netns' },
    isthmus_ready_seconds: 10,
  });
  expect(status).not.toBe(0);
  expect(stdout).toMatch(
    /Isthmus serves no cluster from this host, and the old proxy was not stopped\. alpha is no-netns .*Check ISTHMUS_NETNS_DIR/s,
  );
  await oldServes(traffic);
  expect(ports()).toEqual([OLD_PORT]);
});

test('the old proxy continues if Isthmus does not serve a cluster that the old one offers from this host', async () => {
  const traffic = await clients();
  const { status, stdout } = await play({
    isthmus_settings: { ISTHMUS_NETNS_DIR: '/run/no-netns' },
    isthmus_ready_seconds: 10,
    isthmus_require_serving: false,
  });
  expect(status).not.toBe(0);
  expect(stdout).toContain('The old proxy offers alpha from this host and Isthmus does not');
  await oldServes(traffic);
  expect(ports()).toEqual([OLD_PORT]);
});

test('the old proxy continues, and renews its slices again, if they are not deleted in time', async () => {
  const traffic = await clients();
  const { status, stdout } = await play({ isthmus_stale_seconds: 4 });
  expect(status).not.toBe(0);
  expect(stdout).toContain(
    'The old proxy was not stopped, and renews its EndpointSlices again. After 4 s it still offered alpha',
  );
  await oldServes(traffic);
  expect(ports()).toEqual([16_443, OLD_PORT]);
});

test('the role adopts the kubeconfig at the place of os_magnum, changes the proxy, and no new connection is lost', async () => {
  const traffic = await clients();
  const place = '/etc/proxy/kubeconfig';
  site.machine.write(place, site.kubeconfig(), 0o600);
  await site.machine.sh('echo "not this one" >/var/lib/capi_proxy/.kube/config');
  expect(await changes({ magnum_capi_vexxhost_k8s_conf_dest: place })).toBeGreaterThan(0);
  expect(await site.machine.sh('stat -c "%U:%G %a" /etc/isthmus/kubeconfig')).toBe('root:isthmus 640');
  site.machine.write('/var/lib/capi_proxy/.kube/config', site.kubeconfig(), 0o600);
  expect(await state(OLD)).toEqual({ ActiveState: 'inactive', UnitFileState: 'disabled' });
  expect(await state('isthmus')).toEqual({ ActiveState: 'active', UnitFileState: 'enabled' });
  expect(ports()).toEqual([16_443]);
  await traffic.goesOn(20);
  await traffic.stop();
  console.log(`to Isthmus: ${traffic.visits} new connections, ${traffic.problems.length} lost`);
  expect(traffic.problems).toEqual([]);
});

test('a second run changes nothing, and --check says so', async () => {
  expect(await changes()).toBe(0);
  expect(await changes({}, '--check')).toBe(0);
});

test('a changed setting is reloaded, and no connection is lost', async () => {
  const traffic = await clients();
  await traffic.residents(2);
  const before = await site.mainPid();
  const settings = { isthmus_settings: { ISTHMUS_LOG_LEVEL: 'debug' } };
  expect(await changes(settings)).toBe(2);
  expect(await site.mainPid()).not.toBe(before);
  expect(await changes(settings)).toBe(0);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
});

test('a newer package is installed while clients are served, and no connection is lost', async () => {
  const traffic = await clients();
  await traffic.residents(2);
  const before = await site.mainPid();
  expect(await changes({ isthmus_deb: NEXT })).toBeGreaterThan(0);
  expect(await site.mainPid()).not.toBe(before);
  expect(JSON.parse(await site.machine.sh('isthmus status --json'))).toMatchObject({
    version: expect.stringMatching(/\+next$/),
  });
  expect(await changes({ isthmus_deb: NEXT })).toBe(0);
  await traffic.goesOn(20);
  await traffic.stop();
  console.log(`a newer package: ${traffic.visits} new connections, ${traffic.problems.length} lost`);
  expect(traffic.problems).toEqual([]);
});

test('the way back loses no new connection either, and a second run of it changes nothing', async () => {
  const traffic = await clients();
  expect(await changes({ isthmus_rollback: true })).toBeGreaterThan(0);
  expect(await state(OLD)).toEqual({ ActiveState: 'active', UnitFileState: 'enabled' });
  expect(await state('isthmus')).toEqual({ ActiveState: 'inactive', UnitFileState: 'disabled' });
  expect(ports()).toEqual([OLD_PORT]);
  await traffic.goesOn(20);
  await traffic.stop();
  console.log(`back to the old proxy: ${traffic.visits} new connections, ${traffic.problems.length} lost`);
  expect(traffic.problems).toEqual([]);
  expect(await changes({ isthmus_rollback: true })).toBe(0);
});

test('the command of the documentation continues the old proxy after an interrupted run, and no client is lost', async () => {
  const traffic = await clients();
  await interruptedPlay();
  await site.machine.sh(`systemctl kill --kill-who=main --signal=SIGCONT ${OLD}`);
  await until('both proxies offer the cluster', () => ports().join() === `16443,${OLD_PORT}`);
  await oldServes(traffic);
});

test('a second run after an interrupted one finishes the change, and no new connection is lost', async () => {
  const traffic = await clients();
  await interruptedPlay();
  expect(await changes()).toBeGreaterThan(0);
  expect(await state(OLD)).toEqual({ ActiveState: 'inactive', UnitFileState: 'disabled' });
  expect(ports()).toEqual([16_443]);
  await traffic.goesOn(20);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
});

test('on the way back the old proxy may get another port, because its own is in use, and no new connection is lost', async () => {
  const traffic = await clients();
  // Bound and not listening: no client may reach it. The port can be in TIME-WAIT for a minute.
  const script = `import pathlib, socket, time
taken = socket.socket()
for attempt in range(600):
    try:
        taken.bind(('${MACHINE_ADDRESS}', ${OLD_PORT}))
        break
    except OSError:
        time.sleep(0.2)
else:
    raise SystemExit('the port is still in use after 120 s')
pathlib.Path('/run/port-taken').touch()
time.sleep(3600)
`;
  site.machine.write('/opt/take-port.py', script);
  await site.machine.sh('systemd-run --quiet --unit=take-port python3 /opt/take-port.py');
  await until(
    'the port is taken',
    async () => (await site.machine.run('ls', '/run/port-taken')).status === 0,
  );
  expect(await changes({ isthmus_rollback: true })).toBeGreaterThan(0);
  expect(await state('isthmus')).toEqual({ ActiveState: 'inactive', UnitFileState: 'disabled' });
  expect(ports()).toHaveLength(1);
  expect(ports()).not.toContain(OLD_PORT);
  await traffic.goesOn(20);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
});
