// A node of its own on this machine: network, mount, PID, UTS, IPC and cgroup namespaces, with a disk in the sandbox's /run. Programs start
// in it as on a booted machine. `crash` ends all of them at once, and `boot` starts the node again with an empty /run.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { LoggedProcess } from '../e2e/component.ts';
import { until } from '../support/tcp.ts';

const script = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url));
const NAMESPACES = ['--mount', '--propagation', 'slave', '--pid', '--uts', '--ipc', '--cgroup'];

/** The cgroups that the runner made for this sandbox, one per hierarchy. */
function sandboxCgroups(): Readonly<Record<string, string>> {
  const { ISTHMUS_NODE_CGROUPS: groups } = process.env;
  if (groups === undefined)
    throw new Error('no cgroups: these tests run with `npm run test:node`, which makes them');
  return JSON.parse(groups) as Record<string, string>;
}

/** containerd, runc and the plugins come from the cache. `TMPDIR` of the sandbox does not exist on the node. */
const environment = (): Record<string, string> => ({
  PATH: `${process.env.ISTHMUS_NODE_RUNTIME}:/usr/sbin:/usr/bin:/sbin:/bin`,
  TMPDIR: '/tmp',
});

export interface RealNodeOptions {
  readonly name: string;
  readonly address: string;
  /** The directory of network namespaces that is /run/netns on this node. A network namespace with the node's name must exist. */
  readonly netnsDirectory: string;
}

export class RealNode {
  readonly name: string;
  readonly address: string;
  /** The node's disk, as this process sees it: `lib` is /var/lib of the node. */
  readonly disk: string;
  readonly #netnsDirectory: string;
  readonly #groups: readonly (readonly [hierarchy: string, group: string])[];
  #init: LoggedProcess | null = null;

  constructor({ name, address, netnsDirectory }: RealNodeOptions) {
    this.name = name;
    this.address = address;
    this.disk = join('/run/nodes', name);
    this.#netnsDirectory = netnsDirectory;
    this.#groups = Object.entries(sandboxCgroups()).map(([hierarchy, group]) => [
      hierarchy,
      join(group, name),
    ]);
    for (const each of ['lib', 'log', 'run', 'sysctl']) mkdirSync(join(this.disk, each), { recursive: true });
  }

  async boot(): Promise<void> {
    const booted = join(this.disk, 'lib', 'booted');
    rmSync(booted, { force: true });
    for (const [hierarchy, group] of this.#groups) {
      mkdirSync(group, { recursive: true });
      for (const setting of hierarchy === 'cpuset' ? ['cpuset.cpus', 'cpuset.mems'] : [])
        writeFileSync(join(group, setting), readFileSync(join(group, '..', setting)));
    }
    const init = ['sh', script('init-node.sh'), this.name, this.disk, this.#netnsDirectory];
    const inside = [
      'nsenter',
      `--net=/run/netns/${this.name}`,
      'unshare',
      ...NAMESPACES,
      '--fork',
      '--kill-child',
    ];
    const all = [...this.#joined(), ...inside, ...init, ...this.#groups.map(([hierarchy]) => hierarchy)];
    this.#init = new LoggedProcess('sh', all, { label: `init-${this.name}` });
    await until(`${this.name} has booted`, () => existsSync(booted) || this.#init?.running !== true, 30_000);
    if (!existsSync(booted)) throw new Error(`${this.name} did not boot\n${this.#init.lastLines()}`);
  }

  /** Starts a program on the node. */
  start(label: string, command: string, ...args: readonly string[]): NodeProcess {
    const all = [...this.#joined(), ...this.#entered(), command, ...args];
    return new NodeProcess('sh', all, { label: `${label}-${this.name}`, env: environment() });
  }

  /** Runs a program on the node and returns its output. */
  async run(command: string, ...args: readonly string[]): Promise<string> {
    const all = [...this.#joined(), ...this.#entered(), command, ...args];
    const options = { env: { ...process.env, ...environment() }, timeout: 120_000, maxBuffer: 64 << 20 };
    try {
      return (await promisify(execFile)('sh', all, options)).stdout.trim();
    } catch (error) {
      const { stderr } = error as { stderr?: string };
      throw new Error(`${command} ${args.join(' ')} on ${this.name}: ${stderr || error}`);
    }
  }

  /** Ends all processes of the node at once, as a power failure does. */
  async crash(): Promise<void> {
    await this.#init?.stop('SIGKILL');
    for (const [, group] of this.#groups)
      await until(`the cgroup ${group} is empty`, () => removeTree(group), 60_000);
  }

  #joined(): string[] {
    return [script('join-cgroups.sh'), ...this.#groups.map(([, group]) => group), '--'];
  }

  #entered(): string[] {
    const pid = firstChild(this.#init?.pid ?? -1);
    if (pid === null) throw new Error(`${this.name} does not run`);
    return ['nsenter', '--target', `${pid}`, '--all'];
  }
}

/** A program on a node. nsenter forks, and does not forward signals: they go to its child. */
export class NodeProcess extends LoggedProcess {
  override signal(name: NodeJS.Signals): void {
    const child = firstChild(this.pid);
    if (child !== null) process.kill(child, name);
    super.signal(child === null ? name : 'SIGCONT');
  }
}

function firstChild(pid: number): number | null {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return first ? Number(first) : null;
  } catch {
    return null;
  }
}

/** cgroups are removed from the leaves up, one rmdir each. Returns whether none is left. */
function removeTree(group: string): boolean {
  try {
    execFileSync('find', [group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'], { stdio: 'ignore' });
  } catch {}
  return !existsSync(group);
}
