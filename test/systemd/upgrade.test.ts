// `systemctl reload` and SIGHUP: the built program hands over to its successor under load. No client is refused or reset, and a
// successor that fails changes nothing.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mainScript } from '../support/isthmus.ts';
import { until, WAIT_MS, within } from '../support/tcp.ts';
import { ClientTraffic } from '../support/traffic.ts';
import { TwoClusters } from '../support/two-clusters.ts';
import { Unit } from '../support/unit.ts';

const NOBODY = 65_534;
/** Not in a user namespace with only one user. */
const maySwitchUser =
  spawnSync(process.execPath, ['-e', ''], { uid: NOBODY, gid: NOBODY, cwd: '/' }).status === 0;
const clusters = new TwoClusters();
const cleanups: (() => unknown)[] = [];
beforeAll(() => clusters.start());
afterAll(() => clusters.stop());
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function newUnit(...more: string[]): { unit: Unit; flags: string[] } {
  const unit = new Unit();
  cleanups.push(() => unit.stop());
  const manifests = join(unit.directory, 'clusters');
  mkdirSync(manifests);
  writeFileSync(join(manifests, 'alpha.yaml'), clusters.alpha.manifest);
  // A separate module that loads the program: an upgrade replaces it.
  unit.program = join(unit.directory, 'main.mjs');
  unit.replaceProgram(`import ${JSON.stringify(mainScript)};`);
  const flags = ['--source', `file:${manifests}`, '--log-format', 'json', '--health-interval', '200ms'];
  return {
    unit,
    flags: [
      ...flags,
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      '--handover',
      unit.handover,
      ...more,
    ],
  };
}

async function busy(unit: Unit, residents = 4): Promise<ClientTraffic> {
  const traffic = new ClientTraffic({ port: unit.port(), cluster: clusters.alpha });
  cleanups.push(() => traffic.stop());
  await traffic.residents(residents);
  traffic.visitors(4);
  await traffic.goesOn(5);
  return traffic;
}

describe.each(['native', 'streams'])('an upgrade (%s)', (engine) => {
  test('refuses and resets no client, keeps the ports, and leaves existing connections with the old process', async () => {
    const { unit, flags } = newUnit('--engine', engine);
    const old = await unit.ready(...flags);
    const [port, admin] = [unit.port(), unit.port('admin')];
    const traffic = await busy(unit);
    for (let round = 0; round < 2; round += 1) {
      const before = unit.mainPid;
      const { code, text } = await unit.reload();
      expect(text).toMatch(/^isthmus \S+ \(pid \d+\) serves now/);
      expect(code).toBe(0);
      await until('systemd knows the new one', () => unit.mainPid !== before);
      expect(text).toContain(`pid ${unit.mainPid}`);
      expect([unit.port(), unit.port('admin')]).toEqual([port, admin]);
      await traffic.goesOn(5);
    }
    expect(unit.isAlive(old.pid as number)).toBe(true);
    expect(unit.isAlive(unit.mainPid)).toBe(true);
    // The process in between had no residents, and has ended.
    const [, between] = [...new Set(unit.notify.all.map(({ pid }) => pid))];
    await unit.ended(between as number);
    await expect.poll(async () => (await unit.status()).ready).toBe(true);
    expect(traffic.residing).toBe(4);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
    await unit.ended(old.pid as number);
    await until('their final log lines are read', () => unit.logged('all connections finished').length >= 2);
    expect(unit.logged('all connections finished').map(({ reset }) => reset)).toEqual([0, 0]);
  });
});

describe('an upgrade', () => {
  test('notifies systemd in order: reloading, new main process, ready; the old process sends nothing afterwards', async () => {
    const { unit, flags } = newUnit();
    unit.environment.WATCHDOG_USEC = '200000';
    const old = await unit.ready(...flags);
    const from = unit.notify.all.length;
    process.kill(old.pid as number, 'SIGHUP');
    await unit.notify.until('ready', ({ pid, fields }) => pid !== old.pid && fields.READY === '1');
    await unit.ended(old.pid as number);
    const notices = unit.notify.all.slice(from).filter(({ fields }) => fields.WATCHDOG === undefined);
    const successor = unit.mainPid;
    expect(notices[0]).toMatchObject({
      pid: old.pid,
      fields: { RELOADING: '1', MONOTONIC_USEC: expect.stringMatching(/^\d+$/) },
    });
    expect(notices[1]).toEqual({ pid: old.pid, fields: { MAINPID: String(successor) } });
    expect(notices[2]).toMatchObject({ pid: successor, fields: { READY: '1', MAINPID: String(successor) } });
    const last = unit.notify.all.findLastIndex(({ pid }) => pid === old.pid);
    expect(unit.notify.all[last]).toBe(notices[1]);
    const beats = () =>
      unit.notify.all.filter(({ pid, fields }) => pid === successor && fields.WATCHDOG === '1').length;
    await until('the new one beats', () => beats() > 2);
    // The successor is not a child of the old process: systemd detects its exit.
    expect(notices.some(({ fields }) => fields.STOPPING === '1')).toBe(false);
  });

  test('applies changed settings if systemctl starts it', async () => {
    const { unit, flags } = newUnit();
    unit.environment.ISTHMUS_NAMESPACE = 'magnum-system';
    await unit.ready(...flags);
    expect(
      (await unit.reload({ ISTHMUS_DEFAULT_CLUSTER: 'alpha', ISTHMUS_MAX_CONNECTIONS: '77' })).code,
    ).toBe(0);
    await until('the successor has them', () =>
      unit.log.some(({ msg, wanted }) => msg === 'limits' && wanted === 77),
    );
    const { code } = await unit.reload();
    expect(code).toBe(0);
    await until(
      'and its successor too',
      () => unit.logged('limits').filter(({ wanted }) => wanted === 77).length === 2,
    );
  });

  test('resets the connections of the old process only at --handover-drain', async () => {
    // Longer than the check that all connections are open.
    const { unit, flags } = newUnit('--handover-drain', '10s');
    const old = await unit.ready(...flags);
    const traffic = await busy(unit, 2);
    expect((await unit.reload()).code).toBe(0);
    await traffic.goesOn(3);
    expect(traffic.problems).toEqual([]);
    await unit.ended(old.pid as number);
    await until('the resident connections are reset', () => traffic.residing === 0);
    await traffic.goesOn(3);
    await traffic.stop();
    expect(traffic.problems.every((problem) => problem.startsWith('resident: '))).toBe(true);
    await until(
      'its final log line is read',
      () => unit.logged('drain timeout: reset the remaining connections').length > 0,
    );
    expect(unit.logged('drain timeout: reset the remaining connections')).toHaveLength(1);
  });

  test.each([
    ['ends before it asks for the sockets', 'process.exit(3);'],
    ['ends once it has the sockets', 'setTimeout(() => process.exit(3), 1500); await new Promise(() => {});'],
    ['is no program at all', 'this is not JavaScript'],
  ])('to a successor that %s fails, and the old process continues', async (title, text) => {
    const { unit, flags } = newUnit();
    const old = await unit.ready(...flags);
    const traffic = await busy(unit);
    const takes = title.includes('has the sockets');
    unit.replaceProgram(takes ? dyingSuccessor(unit.handover) : text);
    const { code, text: said } = await unit.reload();
    expect(code).toBe(1);
    expect(said).toMatch(/not reloaded, the running process continues to serve: it ended before it served/);
    await unit.notify.until(
      'ready again',
      ({ pid, fields }) => pid === old.pid && fields.READY === '1' && fields.MAINPID === undefined,
    );
    expect(unit.mainPid).toBe(old.pid);
    await traffic.goesOn(5);
    unit.replaceProgram(`import ${JSON.stringify(mainScript)};`);
    expect((await unit.reload()).code).toBe(0);
    await traffic.goesOn(5);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
  });

  test('survives the death of the old process during the handover, and its clients wait for the new process', async () => {
    const { unit, flags } = newUnit();
    const old = await unit.ready(...flags);
    const port = unit.port();
    // The next version needs a while before it serves.
    unit.replaceProgram(
      `process.env.ISTHMUS_HEALTH_RISE = '12';\nawait import(${JSON.stringify(mainScript)});`,
    );
    process.kill(old.pid as number, 'SIGHUP');
    await until('the new one has the sockets', () => unit.logged('taking over').length === 1);
    process.kill(old.pid as number, 'SIGKILL');
    await within(WAIT_MS, 'the exit of the old process', once(old, 'exit'));
    const traffic = new ClientTraffic({ port, cluster: clusters.alpha });
    traffic.visitors(4);
    await traffic.goesOn(5);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
    expect(unit.port()).toBe(port);
  });

  test('passes a systemd socket to the next process too, whatever --listen says', async () => {
    const { unit, flags } = newUnit();
    const port = await unit.openSocket('tls');
    const at = flags.indexOf('--listen');
    flags[at + 1] = '127.0.0.1:1';
    await unit.ready(...flags);
    const traffic = await busy(unit);
    for (let round = 0; round < 2; round += 1) expect((await unit.reload()).code).toBe(0);
    expect(unit.port()).toBe(port);
    await traffic.goesOn(5);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
  });
});

describe('the handover socket', () => {
  test('is accessible only to its own user, and answers an invalid message without any effect', async () => {
    const { unit, flags } = newUnit();
    await unit.ready(...flags);
    expect(statSync(unit.handover).mode & 0o777).toBe(0o700);
    expect(statSync(join(unit.handover, 'handover.sock')).mode & 0o777).toBe(0o600);
    const socket = connect(join(unit.handover, 'handover.sock'));
    socket.write('{"kind":"give me all"}\n');
    const [answer] = (await within(WAIT_MS, 'an answer to the invalid message', once(socket, 'data'))) as [
      Buffer,
    ];
    expect(String(answer)).toContain('"refused"');
    socket.destroy();
    expect((await unit.reload()).code).toBe(0);
  });

  test.runIf(maySwitchUser)('gives nothing to a process of another user with access', async () => {
    const { unit, flags } = newUnit();
    await unit.ready(...flags);
    const path = join(unit.handover, 'handover.sock');
    for (const [each, mode] of [
      [unit.directory, 0o711],
      [unit.handover, 0o711],
      [path, 0o666],
    ] as const)
      chmodSync(each, mode);
    const script = `
      const socket = require('node:net').connect(${JSON.stringify(path)});
      socket.on('data', (chunk) => console.log('heard ' + chunk)).on('error', (e) => console.log(e.code)).on('close', () => console.log('closed'));
      socket.write('{"kind":"take","version":"1"}\\n');`;
    const child = spawn(process.execPath, ['-e', script], { uid: NOBODY, gid: NOBODY, cwd: '/' });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += String(chunk);
    });
    await within(WAIT_MS, 'the exit of the peer', once(child, 'close'));
    expect(text).toContain('closed');
    expect(text).not.toContain('heard');
    await until('the rejection is logged', () =>
      unit.log.some(
        ({ msg, uid }) => msg === 'handover rejected: peer runs as another user' && uid === NOBODY,
      ),
    );
  });

  test('is reported as missing if no proxy runs', async () => {
    const { unit } = newUnit();
    expect(await unit.reload()).toEqual({ code: 1, text: expect.stringContaining('no proxy answers at') });
  });

  test('is removed by a process that ends, and a stale one does not block the next start', async () => {
    const { unit, flags } = newUnit();
    const first = await unit.ready(...flags);
    first.kill('SIGKILL');
    await within(WAIT_MS, 'the exit of the first process', once(first, 'exit'));
    const second = await unit.ready(...flags);
    second.kill('SIGTERM');
    await within(WAIT_MS, 'the exit of the second process', once(second, 'exit'));
    expect(() => statSync(join(unit.handover, 'handover.sock'))).toThrow(/ENOENT/);
  });
});

/** A successor that takes the sockets, as the program does, and exits. */
function dyingSuccessor(directory: string): string {
  return `
import { connect } from 'node:net';
const socket = connect(${JSON.stringify(join(directory, 'handover.sock'))});
socket.write('{"kind":"take","version":"9.9.9"}\\n');
socket.once('data', () => process.exit(3));
`;
}
