// The Debian package in a Debian root: installed, upgraded, removed, purged. There is no PID 1: a stub replaces systemctl and records
// its arguments. `npm run test:deb` builds the packages and the root, and runs this file.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { until, WAIT_MS, within } from '../support/tcp.ts';
import { ClientTraffic } from '../support/traffic.ts';
import { TwoClusters } from '../support/two-clusters.ts';

const base = process.env.ISTHMUS_TEST_DEBIAN_ROOT;
const debs = (process.env.ISTHMUS_TEST_DEBS ?? '').split(':');

const STUB = `#!/bin/sh
echo "$@" >> /systemctl.log
if [ -e "/systemctl.fails-$1" ]; then exit 1; fi
`;

/** Its page names files of the image, and the file that builds it in a clone. */
const OF_THE_IMAGE = [
  'deploy/image/Containerfile',
  '/usr/share/doc/isthmus/licences.txt',
  '/usr/share/doc/isthmus/sbom.cdx.json',
];

/** A root with the cached root as lower layer and its own upper layer. */
class DebianRoot {
  readonly place = mkdtempSync(join(tmpdir(), 'isthmus-debian-'));
  readonly path = join(this.place, 'root');

  constructor() {
    sh('mount -t tmpfs tmpfs "$1"', this.place);
    for (const each of ['root', 'upper', 'work']) mkdirSync(join(this.place, each));
    const layers = `lowerdir=${base},upperdir=${join(this.place, 'upper')},workdir=${join(this.place, 'work')}`;
    sh('mount -t overlay overlay -o "$1" "$2"', layers, this.path);
    sh('mount --bind /proc "$1/proc"; mount --bind /dev "$1/dev"', this.path);
    this.write('usr/bin/systemctl', STUB, 0o755);
    mkdirSync(join(this.path, 'run/systemd/system'), { recursive: true });
    mkdirSync(join(this.path, 'debs'));
    sh('mount --bind "$1" "$2"', dirname(debs[0] as string), join(this.path, 'debs'));
  }

  write(path: string, text: string, mode = 0o644): void {
    writeFileSync(join(this.path, path), text, { mode });
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), 'utf8');
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  run(...command: string[]): { status: number | null; text: string } {
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
    const { status, stdout, stderr } = spawnSync('chroot', [this.path, ...command], {
      encoding: 'utf8',
      env,
      timeout: 120_000,
    });
    return { status, text: stdout + stderr };
  }

  install(deb: string, ...flags: string[]): { status: number | null; text: string } {
    return this.run('dpkg', ...flags, '-i', join('/debs', basename(deb)));
  }

  /** The systemctl calls since the previous call of this method. */
  systemctlCalls(): string[] {
    const lines = this.has('systemctl.log') ? this.read('systemctl.log').trim().split('\n') : [];
    rmSync(join(this.path, 'systemctl.log'), { force: true });
    return lines.filter(Boolean);
  }

  /** Ends the processes that run in this root. */
  endProcesses(): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        if (readlinkSync(`/proc/${pid}/root`) === this.path) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // The process ended in the meantime.
      }
    }
  }

  remove(): void {
    sh('umount -R -l "$1"', this.place);
    rmSync(this.place, { recursive: true, force: true });
  }
}

function sh(script: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script, 'sh', ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

describe.runIf(base)('the package', () => {
  let root: DebianRoot;
  const [first = '', next = ''] = debs;
  beforeAll(() => {
    root = new DebianRoot();
  });
  afterAll(() => root?.remove());

  test('contains root-owned files with plain modes, none in /usr/local, and no development files', () => {
    const lines = sh('dpkg-deb -c "$1"', first).trim().split('\n');
    expect(lines.length).toBeGreaterThan(200);
    const bad = lines.filter(
      (line) =>
        !/^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx) root\/root /.test(line) ||
        /\.\/(usr\/local|opt|home|tmp)\//.test(line),
    );
    expect(bad).toEqual([]);
    const paths = lines.map((line) => line.split(' ./')[1] ?? '');
    expect(paths.filter((path) => /node_modules\/(vitest|typescript|@types|node-gyp)\//.test(path))).toEqual(
      [],
    );
    expect(paths.filter((path) => /\.test\.js$|\.ts$/.test(path))).toEqual([]);
    const info = sh('dpkg-deb -f "$1"', first);
    expect(info).toMatch(/^Depends: libc6 \(>= 2\.\d+\), libgcc-s1, libstdc\+\+6/m);
    expect(info).toMatch(/^Installed-Size: \d+$/m);
    console.log(`${basename(first)}: ${(statSync(first).size / 1e6).toFixed(1)} MB unpacked`);
  });

  test('contains each file that its pages link to, and each file of deploy/ and of the package that its texts name', () => {
    const place = mkdtempSync(join(tmpdir(), 'isthmus-deb-'));
    onTestFinished(() => rmSync(place, { recursive: true, force: true }));
    sh('dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" ./usr/share/doc ./usr/lib/systemd', first, place);
    const documents = join(place, 'usr/share/doc/isthmus');
    const files = readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(md|ya?ml|service|socket|mount|env)$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name));
    const found = files.flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      const from = (pattern: RegExp, base: string) =>
        [...text.matchAll(pattern)].map(([, name]) => ({ file, name, path: join(base, name as string) }));
      const links = file.endsWith('.md') ? from(/\]\((?!\w+:)([^)#\s[\]]+)/g, dirname(file)) : [];
      const absolute = from(/(\/usr\/share\/doc\/isthmus[\w./-]*[\w/])/g, place);
      return [...links, ...absolute, ...from(/(?<![\w./-])(deploy\/[\w./-]*[\w/])/g, documents)];
    });
    const named = (name: string) => found.some(({ path }) => path === join(documents, name));
    expect(named('deploy/examples/kubernetes-source/rbac.yaml')).toBe(true);
    expect(named('deploy/systemd/run-netns.mount')).toBe(true);
    const missing = found.filter(
      ({ name, path }) => !existsSync(path) && !OF_THE_IMAGE.includes(name as string),
    );
    expect(missing).toEqual([]);
    expect(found.length).toBeGreaterThan(100);
  });

  test('installs, creates its user, runs the doctor, and does not start an instance that cannot work', () => {
    const { status, text } = root.install(first);
    expect(text).toContain('isthmus doctor');
    expect(text).toMatch(/not started\. Correct the problems above/);
    expect(status).toBe(0);
    expect(root.systemctlCalls()).toEqual(['daemon-reload', 'enable isthmus.service']);
    expect(root.read('etc/passwd')).toMatch(/^isthmus:/m);
    expect(statSync(join(root.path, 'etc/isthmus')).mode & 0o777).toBe(0o750);
    expect(root.run('isthmus', 'version').text).toMatch(/^isthmus \S+ \(Node /);
    expect(root.run('isthmus', 'run', '--help').status).toBe(0);
    expect(root.run('dpkg', '--verify', 'isthmus').text).toBe('');
  });

  test('is upgraded by a reload, and keeps changed settings', () => {
    root.write('etc/default/isthmus', 'ISTHMUS_SOURCE=file:/etc/isthmus\n');
    const { status, text } = root.install(next, '--force-confold');
    expect(text).not.toContain('doctor');
    expect(status).toBe(0);
    expect(root.systemctlCalls()).toEqual([
      'daemon-reload',
      'is-active --quiet isthmus.service',
      'reload isthmus.service',
    ]);
    expect(root.read('etc/default/isthmus')).toBe('ISTHMUS_SOURCE=file:/etc/isthmus\n');
    expect(root.run('isthmus', 'version').text).toContain('+next');
  });

  test('is upgraded even if the reload fails, and reports that the previous version continues', () => {
    root.write('systemctl.fails-reload', '');
    const { status, text } = root.install(first, '--force-confold', '--force-downgrade');
    expect(status).toBe(0);
    expect(text).toMatch(/the old version \(\S+\+next\) continues to serve/);
    rmSync(join(root.path, 'systemctl.fails-reload'));
    root.systemctlCalls();
  });

  test('does not start a stopped service', () => {
    root.write('systemctl.fails-is-active', '');
    expect(root.install(next, '--force-confold').status).toBe(0);
    expect(root.systemctlCalls()).toEqual(['daemon-reload', 'is-active --quiet isthmus.service']);
    rmSync(join(root.path, 'systemctl.fails-is-active'));
  });

  test('stops its service and keeps its settings when it is removed, and leaves only its user when it is purged', () => {
    root.write('etc/isthmus/kubeconfig', 'secret');
    const removed = root.run('dpkg', '-r', 'isthmus');
    expect(removed.status).toBe(0);
    expect(removed.text).not.toMatch(/not empty|warning/);
    expect(root.systemctlCalls()).toEqual(['disable --now isthmus.service isthmus.socket', 'daemon-reload']);
    expect([root.has('usr/lib/isthmus'), root.has('usr/bin/isthmus')]).toEqual([false, false]);
    expect([root.has('etc/default/isthmus'), root.has('etc/isthmus/kubeconfig')]).toEqual([true, true]);
    // dpkg does not treat this as a first installation, because the settings are still there.
    const again = root.install(next, '--force-confold');
    expect(again.status).toBe(0);
    expect(again.text).toContain('isthmus doctor');
    expect(root.systemctlCalls().slice(0, 2)).toEqual(['daemon-reload', 'enable isthmus.service']);
    expect(root.run('dpkg', '-P', 'isthmus').status).toBe(0);
    root.systemctlCalls();
    expect([root.has('etc/default/isthmus'), root.has('etc/isthmus')]).toEqual([false, false]);
    expect(root.run('dpkg', '-s', 'isthmus').status).not.toBe(0);
  });

  test('starts at once if nothing is missing', () => {
    mkdirSync(join(root.path, 'etc/isthmus'), { recursive: true });
    mkdirSync(join(root.path, 'run/netns'), { recursive: true });
    root.write(
      'etc/default/isthmus',
      'ISTHMUS_SOURCE=file:/etc/isthmus\nISTHMUS_ADMIN=127.0.0.1:0\nISTHMUS_LISTEN=127.0.0.1:0\n',
    );
    const { status, text } = root.install(first, '--force-confold');
    expect(status).toBe(0);
    expect(text).not.toContain('not started');
    expect(root.systemctlCalls()).toEqual([
      'daemon-reload',
      'enable isthmus.service',
      'start isthmus.service',
    ]);
  });

  test('is upgraded while it serves, with the real command in place of systemctl, and no client is refused or cut', async () => {
    const clusters = new TwoClusters();
    await clusters.start();
    sh('mount --rbind /run/netns "$1"', join(root.path, 'run/netns'));
    root.write('etc/isthmus/alpha.yaml', clusters.alpha.manifest);
    const node = '/usr/lib/isthmus/bin/node /usr/lib/isthmus/dist/main.js';
    root.write(
      'usr/bin/systemctl',
      `${STUB}[ "$1" != reload ] || exec ${node} reload --handover /run/isthmus\n`,
      0o755,
    );
    const command = `exec ${node} run --source file:/etc/isthmus --listen 127.0.0.1:0 --admin 127.0.0.1:0 --handover /run/isthmus`;
    const child = spawn('chroot', [root.path, 'sh', '-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
    const log: { msg?: string; listen?: string; version?: string }[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line) as object));
    const serving = () => log.filter(({ msg }) => msg === 'serving');
    try {
      await until('it serves', () => serving().length === 1);
      const port = Number(serving()[0]?.listen?.split(':').at(-1));
      const traffic = new ClientTraffic({ port, cluster: clusters.alpha });
      await traffic.residents(3);
      traffic.visitors(3);
      await traffic.goesOn(5);
      const installed = spawn(
        'chroot',
        [root.path, 'dpkg', '--force-confold', '-i', join('/debs', basename(next))],
        {
          stdio: 'ignore',
          env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
        },
      );
      const [code] = (await within(3 * WAIT_MS, 'the exit of the installation', once(installed, 'exit'))) as [
        number,
      ];
      expect(code).toBe(0);
      await until('the new version serves', () => serving().length === 2);
      expect(serving()[1]?.version).toMatch(/\+next$/);
      await traffic.goesOn(10);
      expect(traffic.residing).toBe(3);
      await traffic.stop();
      expect(traffic.problems).toEqual([]);
      await within(WAIT_MS, 'the exit of the process', once(child, 'exit'));
    } finally {
      root.endProcesses();
      await clusters.stop();
    }
  });
});
