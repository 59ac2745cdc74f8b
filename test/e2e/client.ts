// A machine of the management cluster that runs clients. A real kube-proxy translates Service addresses to Isthmus instances, and names
// resolve with CoreDNS through its Service, with the search list of a Pod. Nothing here depends on Isthmus.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { within } from '../support/tcp.ts';
import { Component, componentCommand } from './component.ts';

export type ProxyMode = 'nftables' | 'iptables';

export const DNS_SERVICE = '10.96.0.10';
const RESOLV_CONF = `search magnum-system.svc.cluster.local svc.cluster.local cluster.local
nameserver ${DNS_SERVICE}
options ndots:5
`;
/** If the file is a link into a /run that the sandbox lacks, this creates its target first. */
const WITH_RESOLVER =
  't=$(readlink -m /etc/resolv.conf) && { [ -e "$t" ] || { mkdir -p "$(dirname "$t")" && : >"$t"; }; } && ' +
  'mount --bind "$1" "$t" && shift && exec "$@"';

const script = fileURLToPath(new URL('./client-main.ts', import.meta.url));
const FIRST_WORDS = `
const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), host);
const end = (said) => { process.stdout.write(said); process.exit(0); };
socket.setTimeout(10_000, () => end(''));
socket.on('error', () => end(''));
socket.on('end', () => end(''));
socket.once('data', (data) => end(String(data)));
`;
const greeter = fileURLToPath(new URL('./greet-main.ts', import.meta.url));

export interface ClientOptions {
  readonly netns: string;
  readonly mode: ProxyMode;
  readonly directory: string;
  readonly managementKubeconfig: string;
}

/** One line of client-main.ts output. */
export interface Try {
  readonly ok: boolean;
  /** When the request began, in milliseconds since 1970, and how long it took. */
  readonly at: number;
  readonly ms: number;
  readonly error?: string;
  /** Which of the connections of `hold`. */
  readonly connection?: number;
}

export class Client {
  readonly netns: string;
  readonly mode: ProxyMode;
  readonly #directory: string;
  readonly #resolvConf: string;
  readonly #managementKubeconfig: string;
  #kubeProxy: Component;

  constructor({ netns, mode, directory, managementKubeconfig }: ClientOptions) {
    this.netns = netns;
    this.mode = mode;
    this.#directory = join(directory, netns);
    mkdirSync(this.#directory, { recursive: true });
    this.#resolvConf = join(this.#directory, 'resolv.conf');
    writeFileSync(this.#resolvConf, RESOLV_CONF);
    this.#managementKubeconfig = managementKubeconfig;
    this.#kubeProxy = this.#startKubeProxy();
  }

  async restartKubeProxy(): Promise<void> {
    await this.#kubeProxy.stop('SIGKILL');
    this.#kubeProxy = this.#startKubeProxy();
  }

  /** The forwarding rules of kube-proxy, as the kernel has them. */
  rules(): string {
    const command = this.mode === 'nftables' ? ['nft', 'list', 'ruleset'] : ['iptables-save', '-t', 'nat'];
    return execFileSync('ip', ['netns', 'exec', this.netns, ...command], {
      encoding: 'utf8',
      env: { ...process.env, ...packetFilter() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Whether the rules send connections to this address. */
  leadsTo(address: string, port = 6443): boolean {
    const rules = this.rules();
    return (
      rules.includes(`dnat to ${address}:${port}`) || rules.includes(`--to-destination ${address}:${port}`)
    );
  }

  /** Runs kubectl with this kubeconfig and returns its output. */
  async kubectl(kubeconfig: string, ...args: readonly string[]): Promise<string> {
    const [command, all] = this.#command(this.#kubectl(kubeconfig, args));
    try {
      const { stdout } = await promisify(execFile)(command, all, { timeout: 180_000, maxBuffer: 64 << 20 });
      return stdout.trim();
    } catch (error) {
      throw new Error(`kubectl ${args.join(' ')}: ${(error as { stderr?: string }).stderr ?? error}`);
    }
  }

  /** The first bytes of a server that speaks first, such as an SSH server; empty if it sends nothing. */
  async firstWords(host: string, port: number): Promise<string> {
    const [command, args] = this.#command([process.execPath, '-e', FIRST_WORDS, host, `${port}`]);
    const { stdout } = await promisify(execFile)(command, args, { timeout: 60_000 });
    return stdout.trim();
  }

  /** A kubectl that keeps running: its output lines. */
  startKubectl(kubeconfig: string, ...args: readonly string[]): Lines {
    return new Lines(...this.#command(this.#kubectl(kubeconfig, args)));
  }

  /** Opens a new connection every `everyMs` until it is stopped. */
  loop(kubeconfig: string, everyMs: number): Loop {
    const file = this.#save(kubeconfig);
    return new Loop(...this.#command([process.execPath, script, 'loop', file, `${everyMs}`]));
  }

  /** Connections that stay open, with a request on each every second. */
  hold(kubeconfig: string, count: number): Loop {
    const file = this.#save(kubeconfig);
    return new Loop(...this.#command([process.execPath, script, 'hold', file, `${count}`]));
  }

  /** Opens a new TCP connection every `everyMs` and records the server that answers. */
  greet(host: string, port: number, everyMs: number): Lines {
    return new Lines(...this.#command([process.execPath, greeter, host, `${port}`, `${everyMs}`]));
  }

  /** Upgrades a connection to this path, which then echoes. */
  upgrade(kubeconfig: string, path: string): Lines {
    const file = this.#save(kubeconfig);
    return new Lines(...this.#command([process.execPath, script, 'upgrade', file, path]));
  }

  #startKubeProxy(): Component {
    const { mode, netns } = this;
    return new Component(
      'kube-proxy',
      [
        `--kubeconfig=${this.#managementKubeconfig}`,
        `--proxy-mode=${mode}`,
        `--hostname-override=${netns}`,
        '--cluster-cidr=10.244.0.0/16',
        // These belong to the machine, not to a netns.
        '--conntrack-max-per-core=0',
        '--conntrack-tcp-timeout-established=0s',
        '--conntrack-tcp-timeout-close-wait=0s',
        '--v=2',
      ],
      { label: `kube-proxy-${mode}`, netns, env: packetFilter() },
    );
  }

  #kubectl(kubeconfig: string, args: readonly string[]): string[] {
    const settings = [
      `--kubeconfig=${this.#save(kubeconfig)}`,
      `--cache-dir=${join(this.#directory, 'cache')}`,
    ];
    const [command, all] = componentCommand('kubectl', [...settings, ...args]);
    return [command, ...all];
  }

  #saved = 0;
  #save(kubeconfig: string): string {
    this.#saved += 1;
    const file = join(this.#directory, `kubeconfig-${this.#saved}`);
    writeFileSync(file, kubeconfig, { mode: 0o600 });
    return file;
  }

  #command(command: readonly string[]): [string, string[]] {
    const inside = ['netns', 'exec', this.netns, 'sh', '-c', WITH_RESOLVER, 'sh', this.#resolvConf];
    return ['ip', [...inside, ...command]];
  }

  async stop(): Promise<void> {
    await this.#kubeProxy.stop('SIGKILL');
  }
}

/** A process that prints lines while it runs. */
export class Lines {
  readonly all: string[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #errors: string[] = [];
  #heard: () => void = () => {};

  constructor(command: string, args: readonly string[]) {
    const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    this.#closed = once(child, 'close');
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.all.push(line);
      this.#heard();
    });
    createInterface({ input: child.stderr }).on('line', (line) => this.#errors.push(line));
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get errors(): string {
    return this.#errors.join('\n');
  }

  /** Waits for a matching line, past or future. */
  async heard(fits: (line: string) => boolean, milliseconds = 120_000): Promise<string> {
    await this.until(() => this.all.some(fits), milliseconds);
    return this.all.find(fits) as string;
  }

  /** Waits until the condition holds after a line. */
  protected async until(holds: () => boolean, milliseconds: number): Promise<void> {
    const wait = new Promise<void>((resolve) => {
      this.#heard = () => holds() && resolve();
      this.#heard();
    });
    try {
      await within(milliseconds, 'a line', wait);
    } catch (error) {
      const last = this.all.slice(-100).join('\n');
      throw new Error(`${(error as Error).message}; it said at last:\n${last}\n${this.errors}`);
    }
  }

  /** Ends its standard input; client-main.ts and greet-main.ts then finish their current work. */
  async finish(milliseconds = 60_000): Promise<void> {
    this.#child.stdin?.end();
    await within(milliseconds, 'the end of a client', this.#closed);
  }

  async stop(): Promise<void> {
    if (this.running) this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

export class Loop extends Lines {
  readonly #tries: Try[] = [];

  /** Each line is parsed once: a story of eleven minutes has more than ten thousand. */
  get tries(): readonly Try[] {
    for (const line of this.all.slice(this.#tries.length)) this.#tries.push(JSON.parse(line) as Try);
    return this.#tries;
  }

  get failures(): Try[] {
    return this.tries.filter(({ ok }) => !ok);
  }

  /** Waits for `count` more successes. */
  async more(count: number, milliseconds = 120_000): Promise<void> {
    const successes = () => this.tries.filter(({ ok }) => ok).length;
    const wanted = successes() + count;
    await this.until(() => successes() >= wanted, milliseconds);
  }
}

/** nft and iptables of the machine, or the copies that were unpacked for the tests. */
function packetFilter(): Record<string, string> {
  const {
    ISTHMUS_PACKET_FILTER: programs,
    ISTHMUS_PACKET_FILTER_LIBRARIES: libraries,
    PATH = '',
  } = process.env;
  if (programs === undefined || libraries === undefined) return { PATH: `${PATH}:/usr/sbin:/sbin` };
  const extensions = libraries.split(':').map((directory) => join(directory, 'xtables'));
  return { PATH: `${programs}:${PATH}`, LD_LIBRARY_PATH: libraries, XTABLES_LIBDIR: extensions.join(':') };
}
