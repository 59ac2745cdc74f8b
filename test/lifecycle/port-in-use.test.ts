// The older Pod of a DaemonSet on the host's network drains while the new one starts: the program waits for the port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { Isthmus } from '../support/isthmus.ts';
import { freePort, until } from '../support/tcp.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const WAITS = 'is in use by a process of another user or container: trying again for 60 s';

test.each(['listen', 'admin', 'health-listen'])(
  'a program waits for the port of --%s while a process of another PID namespace holds it',
  async (flag) => {
    const port = await freePort();
    const script = `require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`;
    const older = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    cleanups.push(() => older.kill('SIGKILL'));
    await once(older.stdout, 'data');
    const isthmus = new Isthmus();
    cleanups.push(() => isthmus.stop());
    // A PID namespace of its own, with its own /proc: as in a container.
    isthmus.within = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const address = `127.0.0.1:${port}`;
    if (flag === 'listen') isthmus.listen = address;
    if (flag === 'admin') isthmus.admin = address;
    const started = isthmus.start(...(flag === 'health-listen' ? ['--health-listen', address] : []));
    started.catch(() => {});
    await until('it waits', () => isthmus.log.some(({ msg }) => msg === `--${flag} ${address} ${WAITS}`));
    older.kill('SIGTERM');
    await started;
    expect(isthmus.log.filter(({ level }) => level === 'fatal')).toEqual([]);
  },
);
