// The steps of docs/how-to/install/systemd.md on a booted Debian: install, see what is missing, configure, start, read the journal.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

let site: BootedSite;
let alpha: Tenant;
beforeAll(async () => {
  site = await BootedSite.start();
  alpha = await site.addTenant('alpha');
});
afterAll(() => site?.stop());

test('apt installs and enables the service, names what is missing, and does not start it', async () => {
  const text = await site.install();
  expect(text).toMatch(/kubeconfig.*a file that exists/);
  expect(text).toContain('not started. Correct the problems above');
  const { ActiveState, UnitFileState } = await site.machine.show('isthmus', 'ActiveState', 'UnitFileState');
  expect({ ActiveState, UnitFileState }).toEqual({ ActiveState: 'inactive', UnitFileState: 'enabled' });
});

test('systemctl start returns when the service answers clients, and the cluster is published', async () => {
  site.configure();
  await site.machine.sh('systemctl start isthmus');
  const traffic = site.traffic(alpha);
  traffic.visitors(2);
  await traffic.goesOn(5);
  await traffic.stop();
  expect(traffic.problems).toEqual([]);
  const shown = await site.machine.show(
    'isthmus',
    'ActiveState',
    'SubState',
    'StatusText',
    'NRestarts',
    'WatchdogUSec',
  );
  expect(shown).toEqual({
    ActiveState: 'active',
    SubState: 'running',
    StatusText: 'serving 1 cluster at [::]:6443',
    NRestarts: '0',
    WatchdogUSec: '2min',
  });
  await until('the cluster is published', () => `${site.management.slices()}` === 'alpha-net-1');
  expect(site.management.services()).toEqual(['alpha']);
});

test('the process has one capability, a user of its own, and no way to get more', async () => {
  const status = await site.machine.sh(`cat /proc/${await site.mainPid()}/status`);
  const uid = await site.machine.sh('id -u isthmus');
  expect(await site.machine.sh(`grep -l "^Uid:.${uid}" /proc/[0-9]*/status`)).not.toBe('');
  expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
  for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapAmb'])
    expect(status).toMatch(new RegExp(`^${set}:\t0000000000200000$`, 'm'));
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  expect(status).toMatch(/^Seccomp:\t2$/m);
});

test('the journal has the priority, the unit and the facts of each message', async () => {
  const entries = await site.machine.journal();
  const ours = entries.filter(({ _COMM }) => _COMM !== 'systemd');
  expect(ours.length).toBeGreaterThan(2);
  for (const { PRIORITY, _SYSTEMD_UNIT, SYSLOG_IDENTIFIER, MESSAGE } of ours) {
    expect({ PRIORITY, _SYSTEMD_UNIT, SYSLOG_IDENTIFIER }, MESSAGE).toEqual({
      PRIORITY: expect.stringMatching(/^[2-7]$/),
      _SYSTEMD_UNIT: 'isthmus.service',
      SYSLOG_IDENTIFIER: 'isthmus',
    });
  }
  const serving = ours.map(({ MESSAGE = '' }) => MESSAGE).find((message) => message.startsWith('serving '));
  expect(JSON.parse(serving?.slice('serving '.length) ?? '')).toMatchObject({ listen: '[::]:6443' });
});

test('systemctl stop withdraws the cluster, ends with code 0, and leaves no process', async () => {
  await site.machine.sh('systemctl stop isthmus');
  const { Result, ExecMainStatus, ControlGroup } = await site.machine.show(
    'isthmus',
    'Result',
    'ExecMainStatus',
    'ControlGroup',
  );
  expect({ Result, ExecMainStatus, ControlGroup }).toEqual({
    Result: 'success',
    ExecMainStatus: '0',
    ControlGroup: '',
  });
  expect(site.management.slices()).toEqual([]);
  const uid = await site.machine.sh('id -u isthmus');
  expect(await site.machine.sh(`grep -l "^Uid:.${uid}" /proc/[0-9]*/status || true`)).toBe('');
});
