// A setting that is wrong stays wrong: the service fails once, says why, and systemd does not start it again and again.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../support/tcp.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving();
});
afterAll(() => site?.stop());

test.each([
  [
    'a value that is not valid',
    'ISTHMUS_LISTEN=example.org:6443',
    /ISTHMUS_LISTEN: \\?"example\.org:6443\\?" is not valid/,
  ],
  [
    'a setting that does not exist',
    'ISTHMUS_LISTNE=6443',
    /ISTHMUS_LISTNE: this setting does not exist; did you mean ISTHMUS_LISTEN/,
  ],
  [
    'a kubeconfig that does not exist',
    'KUBECONFIG=/etc/isthmus/none',
    /KUBECONFIG: \\?"\/etc\/isthmus\/none\\?" is not valid/,
  ],
])('%s ends the start with code 2, once, and the journal names it', async (_title, setting, message) => {
  await site.machine.sh('systemctl stop isthmus; systemctl reset-failed isthmus 2>/dev/null || true');
  site.set([setting]);
  expect((await site.machine.run('systemctl', 'start', 'isthmus')).status).not.toBe(0);
  // A restart would be in the state activating (auto-restart) from the exit on.
  const shown = await site.machine.show(
    'isthmus',
    'ActiveState',
    'SubState',
    'Result',
    'ExecMainStatus',
    'NRestarts',
  );
  expect(shown).toEqual({
    ActiveState: 'failed',
    SubState: 'failed',
    Result: 'exit-code',
    ExecMainStatus: '2',
    NRestarts: '0',
  });
  await until('the journal names the setting', async () =>
    (await site.machine.journal()).some(({ MESSAGE = '' }) => message.test(MESSAGE)),
  );
});

test('with the socket unit, clients do not start the service again, and it starts with a corrected setting', async () => {
  await site.machine.sh(
    'systemctl stop isthmus; systemctl reset-failed isthmus; systemctl start isthmus.socket',
  );
  const before = await site.exits(2);
  const traffic = site.traffic(site.alpha);
  traffic.visitors(2);
  await until('the service has ended', async () => (await site.exits(2)) > before);
  await until('clients are refused', () => /ECONNREFUSED/.test(traffic.problems.at(-1) ?? ''));
  await traffic.stop();
  expect(await site.exits(2)).toBe(before + 1);
  expect((await site.machine.show('isthmus.socket', 'ActiveState')).ActiveState).toBe('inactive');
  site.set([]);
  await site.machine.sh('systemctl start isthmus.socket isthmus');
  const again = await site.load(site.alpha);
  await again.stop();
  expect(again.problems).toEqual([]);
});
