// The built program under systemd, played by the test: its notifications, inherited sockets, and its log in the journal.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { fstatSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { manifest } from '../support/isthmus.ts';
import { Management } from '../support/kubernetes/management.ts';
import { freePort, until, WAIT_MS, within } from '../support/tcp.ts';
import { ClientTraffic } from '../support/traffic.ts';
import { TwoClusters } from '../support/two-clusters.ts';
import { Unit } from '../support/unit.ts';

/** Runs in a separate process: a process that notifies systemd belongs to the unit, and ends with it. */
const MARK =
  "import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'STATUS=stopped', sys.argv[1])";

const clusters = new TwoClusters();
const units: Unit[] = [];
beforeAll(() => clusters.start());
afterAll(() => clusters.stop());
afterEach(async () => {
  for (const unit of units.splice(0)) await unit.stop();
});

/** A unit that serves alpha from a manifest. */
function newUnit(): { unit: Unit; flags: string[]; manifests: string } {
  const unit = new Unit();
  units.push(unit);
  const manifests = join(unit.directory, 'clusters');
  mkdirSync(manifests);
  writeFileSync(join(manifests, 'alpha.yaml'), clusters.alpha.manifest);
  const flags = ['--source', `file:${manifests}`, '--admin', '127.0.0.1:0', '--log-format', 'json'];
  return { unit, flags: [...flags, '--health-interval', '200ms'], manifests };
}
const ANY = ['--listen', '127.0.0.1:0'];

describe('a notification to systemd', () => {
  test('reports readiness and the main process, a status text, and the stop', async () => {
    const { unit, flags, manifests } = newUnit();
    const child = await unit.ready(...flags, ...ANY, '--drain-timeout', '2m');
    const ready = await unit.notify.until('ready', ({ fields }) => fields.READY === '1');
    expect(ready.fields).toEqual({
      READY: '1',
      MAINPID: String(child.pid),
      STATUS: `serving 1 cluster at 127.0.0.1:${unit.port()}`,
    });
    writeFileSync(
      join(manifests, 'gone.yaml'),
      manifest({ name: 'gone', networkId: 'c0ffee00-0000-4000-8000-000000000000', address: '10.0.0.9' }),
    );
    await unit.notify.until('one has no netns', ({ fields }) => /, 1 no-netns$/.test(fields.STATUS ?? ''));
    child.kill('SIGTERM');
    const stopping = await unit.notify.until('stopping', ({ fields }) => fields.STOPPING === '1');
    // 5 s of propagation, 120 s of drain, and a margin: these settings need more than the unit's TimeoutStopSec=.
    expect(stopping.fields.EXTEND_TIMEOUT_USEC).toBe('135000000');
    const [code] = (await within(WAIT_MS, 'the exit of isthmus', once(child, 'exit'))) as [number];
    expect(code).toBe(0);
  });

  test('is sent when the instance is able, and the status line names what the start waits for until then', async () => {
    const management = await Management.start();
    try {
      await management.api.stop();
      const { unit } = newUnit();
      Object.assign(unit.environment, management.instance('net-1').environment);
      await unit.start('--admin', '127.0.0.1:0', '--log-format', 'json', ...ANY);
      const waiting = /^not ready: openstackclusters: .*ECONNREFUSED/;
      await unit.notify.until('the reason', ({ fields }) => waiting.test(fields.STATUS ?? ''));
      expect(unit.notify.all.filter(({ fields }) => fields.READY !== undefined)).toEqual([]);
      await management.api.start();
      const ready = await unit.notify.until('ready', ({ fields }) => fields.READY === '1');
      expect(ready.fields.STATUS).toMatch(/^serving 0 clusters at /);
    } finally {
      await management.stop();
    }
  });

  test('is sent twice per watchdog interval, only by the process itself: so it stops when the process stops', async () => {
    const { unit, flags } = newUnit();
    unit.environment.WATCHDOG_USEC = '400000';
    const child = await unit.ready(...flags, ...ANY);
    const beats = () => unit.notify.all.filter(({ fields }) => fields.WATCHDOG === '1');
    await until('it beats', () => beats().length >= 4);
    child.kill('SIGSTOP');
    await until('the process is stopped', () =>
      /^State:\tT/m.test(readFileSync(`/proc/${child.pid}/status`, 'utf8')),
    );
    // Datagrams arrive in order: once this mark is read, all earlier messages are read.
    execFileSync('python3', ['-c', MARK, unit.notify.address]);
    await unit.notify.until('our mark', ({ fields }) => fields.STATUS === 'stopped');
    const before = beats().length;
    child.kill('SIGCONT');
    await until('it beats again', () => beats().length > before);
    expect(new Set(beats().map(({ pid }) => pid))).toEqual(new Set([child.pid]));
  });

  test('is not sent for a watchdog of another process', async () => {
    const { unit, flags } = newUnit();
    Object.assign(unit.environment, { WATCHDOG_USEC: '20000', WATCHDOG_PID: '1' });
    const child = await unit.ready(...flags, ...ANY);
    child.kill('SIGTERM');
    // The first signal to a watchdog directly follows the readiness, and messages arrive in order.
    await unit.notify.until('stopping', ({ fields }) => fields.STOPPING === '1');
    expect(unit.notify.all.filter(({ fields }) => fields.WATCHDOG !== undefined)).toEqual([]);
  });

  test('that cannot be sent is logged once, and clients are still served', async () => {
    const { unit, flags } = newUnit();
    unit.environment.NOTIFY_SOCKET = join(unit.directory, 'nobody.sock');
    await unit.start(...flags, ...ANY);
    await until('it serves', () => unit.logged('serving').length === 1);
    await until('it says so', () =>
      unit.log.some(({ msg }) => /status message to systemd failed: ENOENT/.test(msg)),
    );
  });
});

describe('sockets of systemd', () => {
  test.each([
    [
      "a socket with the unit's own name, whatever --listen says",
      ['isthmus.socket'],
      ['--listen', '127.0.0.1:1'],
    ],
    ['two sockets with separate names', ['tls', 'admin'], ['--listen', '127.0.0.1:1']],
  ])('are used for serving: %s', async (_title, names, listen) => {
    const { unit, flags } = newUnit();
    const ports = new Map<string, number>();
    for (const name of names) ports.set(name, await unit.openSocket(name));
    await unit.ready(...flags, ...listen);
    const [first = ''] = names;
    expect(unit.port()).toBe(ports.get(first));
    if (names.includes('admin')) expect(unit.port('admin')).toBe(ports.get('admin'));
    const traffic = new ClientTraffic({ port: unit.port(), cluster: clusters.alpha });
    traffic.visitors(1);
    await traffic.goesOn(3);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
  });

  test.each(['native', 'streams'])(
    'stay bound across a restart: clients wait and are not refused (%s)',
    async (engine) => {
      const { unit, flags } = newUnit();
      const port = await unit.openSocket('tls');
      const args = [...flags, '--engine', engine, '--drain-timeout', '2m'];
      const first = await unit.ready(...args);
      const traffic = new ClientTraffic({ port, cluster: clusters.alpha });
      traffic.visitors(4);
      await traffic.goesOn(5);
      first.kill('SIGTERM');
      await within(WAIT_MS, 'the exit of the first process', once(first, 'exit'));
      const second = await unit.ready(...args);
      expect(second.pid).not.toBe(first.pid);
      await traffic.goesOn(5);
      await traffic.stop();
      expect(traffic.problems).toEqual([]);
    },
  );

  test('for another process are left alone', async () => {
    const { unit, flags } = newUnit();
    Object.assign(unit.environment, { LISTEN_FDS: '1', LISTEN_PID: '1' });
    await unit.ready(...flags, ...ANY);
    expect(unit.logged('serving')).toHaveLength(1);
  });

  test('with the same name: the first one is served, and a warning names the other and what to change', async () => {
    const { unit, flags } = newUnit();
    const port = await unit.openSocket('tls');
    const other = await unit.openSocket('further');
    unit.environment.LISTEN_FDNAMES = 'tls:tls';
    await unit.ready(...flags, ...ANY);
    expect(unit.port()).toBe(port);
    const [warning, ...more] = unit.log.filter(({ msg }) => /two sockets the name tls/.test(msg));
    expect(warning).toMatchObject({ level: 'warn', socket: 'tls', address: '127.0.0.1', port: other });
    expect(warning?.msg).toContain('leave one ListenStream= in the .socket unit');
    expect(more).toEqual([]);
  });

  test('that are not sockets are rejected with an error message', async () => {
    const { unit, flags } = newUnit();
    unit.sockets.set('tls', openSync('/dev/null', 'r'));
    const child = await unit.start(...flags, ...ANY);
    const [code] = (await within(WAIT_MS, 'the exit of isthmus', once(child, 'close'))) as [number];
    expect(code).toBe(1);
    expect(unit.log.at(-1)).toMatchObject({
      level: 'fatal',
      msg: 'LISTEN_FDS passes a socket that is not a listening TCP socket. Use ListenStream= in the socket unit.',
    });
  });
});

describe('the journal', () => {
  test('gets a priority and the message, without a timestamp', async () => {
    const { unit, flags } = newUnit();
    const plain = flags.filter((flag) => flag !== '--log-format' && flag !== 'json');
    const port = await freePort();
    await unit.start(...plain, '--log-format', 'journal', '--listen', `127.0.0.1:${port}`);
    await until('it serves', () => unit.text.some((line) => line.startsWith('<6>serving')));
    const line = unit.text.find((each) => each.startsWith('<6>serving'));
    expect(line).toContain(`"listen":"127.0.0.1:${port}"`);
    expect(unit.text.filter((each) => !/^<[2-7]>\S/.test(each))).toEqual([]);
  });

  test('is detected by JOURNAL_STREAM, if stdout is that stream', async () => {
    const { isJournal } = await import('../../src/telemetry/log/logger.ts');
    const { dev, ino } = fstatSync(1);
    expect(isJournal(`${dev}:${ino}`, 1)).toBe(true);
    expect(isJournal(`${dev}:${ino + 1}`, 1)).toBe(false);
    expect(isJournal(undefined, 1)).toBe(false);
    expect(isJournal('', 1)).toBe(false);
    expect(isJournal(`${dev}:${ino}`, 9999)).toBe(false);
  });
});
