// A Debian with systemd as PID 1, booted by systemd-nspawn from a copy of the cached root, with a network of its own. Only the sandbox
// of `npm run test:systemd` has one. It ends with the sandbox.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ip } from '../../support/network/netns.ts';
import { until } from '../../support/tcp.ts';

export interface Answer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run it with npm run test:systemd`);
  return value;
}

const CGROUP2_MAGIC = 0x6367_7270;
const CGROUPS = '/sys/fs/cgroup';
const NETNS = 'machine';
const VETH = 'to-machine';
/** The addresses of the test and of the machine on the link between them. */
export const TEST_ADDRESS = '192.0.2.1';
export const MACHINE_ADDRESS = '192.0.2.10';
/** The packages of this version and of the next, as paths in the machine. */
export const [FIRST, NEXT] = given('ISTHMUS_TEST_DEBS')
  .split(':')
  .map((file) => join('/debs', basename(file))) as [string, string];
const COMMAND_MS = 600_000;

export class BootedMachine {
  readonly #place = mkdtempSync(join(tmpdir(), 'isthmus-machine-'));
  readonly #console = join(this.#place, 'console');
  #nspawn: ChildProcess | null = null;
  #leader = -1;

  readonly #binds: readonly string[];

  private constructor(binds: readonly string[]) {
    this.#binds = binds;
  }

  /** `binds` are directories that the machine can read, each `<path>:<path in the machine>`. */
  static async boot(binds: readonly string[] = []): Promise<BootedMachine> {
    const machine = new BootedMachine([
      `${dirname(given('ISTHMUS_TEST_DEBS').split(':')[0] as string)}:/debs`,
      ...binds,
    ]);
    try {
      machine.#mountRoot();
      connect();
      await machine.start();
    } catch (error) {
      await machine.remove();
      throw error;
    }
    return machine;
  }

  /** The directory that the machine starts from. What it has mounted is not visible here. */
  get #root(): string {
    return join(this.#place, 'root');
  }

  /** A path of the machine, as the test sees it. */
  path(path: string): string {
    return join(`/proc/${this.#leader}/root`, path);
  }

  async start(): Promise<void> {
    const base = given('ISTHMUS_TEST_DEBIAN_ROOT');
    const libraries = execFileSync('sh', ['-c', 'echo "$1"/usr/lib/*-linux-gnu', 'sh', base], {
      encoding: 'utf8',
    }).trim();
    const loader = execFileSync('sh', ['-c', 'ls "$1"/lib*/ld-linux-*.so.*', 'sh', base], {
      encoding: 'utf8',
    }).trim();
    const nspawn = [loader.split('\n')[0] as string, '--library-path', `${libraries}:${libraries}/systemd`];
    const flags = [
      '--boot',
      '--register=no',
      '--keep-unit',
      '--machine=isthmus',
      '--console=pipe',
      '--capability=all',
      // nspawn blocks keyrings. The sandbox of the unit must be what blocks them.
      '--system-call-filter=@keyring',
    ];
    const places = [`--directory=${this.#root}`, `--network-namespace-path=/run/netns/${NETNS}`];
    const console = openSync(this.#console, 'a');
    const child = spawn(
      'sh',
      [
        ...[
          '-c',
          'echo $$ >"$1"; shift; exec "$@"',
          'sh',
          join(CGROUPS, given('ISTHMUS_TEST_CGROUP'), 'cgroup.procs'),
        ],
        ...[...nspawn, join(base, 'usr/bin/systemd-nspawn'), ...flags, ...places],
        ...this.#binds.map((each) => `--bind-ro=${each}`),
      ],
      { stdio: ['ignore', console, console] },
    );
    closeSync(console);
    this.#nspawn = child;
    await until(
      'the machine has a first process',
      () => this.#findLeader(child.pid as number) || child.exitCode !== null,
    );
    if (child.exitCode !== null)
      throw new Error(`systemd-nspawn ended: ${readFileSync(this.#console, 'utf8')}`);
    await until('the machine has booted', async () => {
      const { stdout } = await this.run('systemctl', 'is-system-running');
      if (/^(degraded|maintenance)/.test(stdout))
        throw new Error(`it is ${stdout}${(await this.run('systemctl', '--failed')).stdout}`);
      return stdout.startsWith('running');
    });
  }

  /** Only the process that became systemd: before that, nspawn's own children are not in the machine's namespaces. */
  #findLeader(nspawn: number): boolean {
    const children = readFileSync(`/proc/${nspawn}/task/${nspawn}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean);
    const found = children.find((pid) => {
      try {
        return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'systemd';
      } catch {
        return false; // it ended
      }
    });
    this.#leader = Number(found ?? -1);
    return found !== undefined;
  }

  /** The arguments that run a command as root of the machine. */
  command(...command: readonly string[]): [string, string[]] {
    const path = 'PATH=/usr/sbin:/usr/bin:/sbin:/bin';
    const env = ['env', '-i', path, 'LANG=C.UTF-8', 'DEBIAN_FRONTEND=noninteractive', 'SYSTEMD_PAGER='];
    return ['nsenter', ['-t', `${this.#leader}`, '-m', '-u', '-i', '-n', '-p', '-C', ...env, ...command]];
  }

  run(...command: readonly string[]): Promise<Answer> {
    const [program, args] = this.command(...command);
    return new Promise((resolve) => {
      execFile(
        program,
        args,
        { encoding: 'utf8', timeout: COMMAND_MS, maxBuffer: 1 << 26 },
        (error, stdout, stderr) =>
          resolve({ status: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
      );
    });
  }

  /** The output of a shell script that must succeed. */
  async sh(script: string): Promise<string> {
    const { status, stdout, stderr } = await this.run('sh', '-ec', script);
    if (status !== 0) throw new Error(`${script}: exit code ${status}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  write(path: string, text: string, mode = 0o644): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), text, { mode });
  }

  /** Properties of a unit, as systemd shows them. */
  async show<Name extends string>(unit: string, ...names: readonly Name[]): Promise<Record<Name, string>> {
    const lines = (await this.sh(`systemctl show -p ${names.join(',')} ${unit}`)).split('\n');
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s))) as Record<Name, string>;
  }

  /** The entries of a unit, oldest first. */
  async journal(unit = 'isthmus.service'): Promise<Record<string, string>[]> {
    const text = await this.sh(`journalctl -u ${unit} -o json --no-pager`);
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, string>);
  }

  /** Shuts it down, in order. `start()` boots it again with the same disk and an empty /run. */
  async poweroff(): Promise<void> {
    if (this.#nspawn === null) return;
    const child = this.#nspawn;
    this.#nspawn = null;
    await this.run('systemctl', 'poweroff', '--no-wall');
    await until('the machine is off', () => child.exitCode !== null || child.signalCode !== null);
  }

  /** Ends it at once, as a power cut does, and removes its files and its network. */
  async remove(): Promise<void> {
    const child = this.#nspawn;
    this.#nspawn = null;
    if (child !== null && child.exitCode === null) {
      child.kill('SIGKILL');
      if (this.#leader > 0) process.kill(this.#leader, 'SIGKILL');
      await until('the machine has ended', () => child.exitCode !== null || child.signalCode !== null);
    }
    execFileSync(
      'sh',
      ['-c', 'umount -R -l "$1"; ip link del "$2"; ip netns del "$3"', 'sh', this.#place, VETH, NETNS],
      { stdio: 'ignore' },
    );
    rmSync(this.#place, { recursive: true, force: true });
  }

  #mountRoot(): void {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', this.#place]);
    for (const each of ['root', 'upper', 'work']) mkdirSync(join(this.#place, each));
    const layers = `lowerdir=${given('ISTHMUS_TEST_DEBIAN_ROOT')},upperdir=${join(this.#place, 'upper')},workdir=${join(this.#place, 'work')}`;
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, this.#root]);
    // Debian's default since version 11. The machine that runs the tests may still have version 1 too.
    if (statfsSync(CGROUPS).type !== CGROUP2_MAGIC)
      execFileSync('mount', ['-t', 'cgroup2', 'cgroup2', CGROUPS]);
  }
}

/** The network of the machine exists before it boots, like that of a host whose addresses a network manager sets early. */
function connect(): void {
  ip('netns', 'add', NETNS);
  ip('link', 'add', VETH, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', NETNS);
  ip('address', 'add', `${TEST_ADDRESS}/24`, 'dev', VETH);
  ip('link', 'set', VETH, 'up');
  ip('-n', NETNS, 'address', 'add', `${MACHINE_ADDRESS}/24`, 'dev', 'eth0');
  for (const device of ['lo', 'eth0']) ip('-n', NETNS, 'link', 'set', device, 'up');
  ip('-n', NETNS, 'route', 'add', 'default', 'via', TEST_ADDRESS);
}
