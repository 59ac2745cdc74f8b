// `isthmus top` from the operator's point of view: beside a running proxy with real traffic, in a pipe and on a real terminal.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TopView } from '../../src/cli/top/top-view.ts';
import { Isthmus, mainScript } from '../support/isthmus.ts';
import { isAlive } from '../support/process.ts';
import { freePort, until, WAIT_MS, within } from '../support/tcp.ts';
import { ClientTraffic } from '../support/traffic.ts';
import { TwoClusters } from '../support/two-clusters.ts';

const clusters = new TwoClusters();
const isthmus = new Isthmus();
let traffic: ClientTraffic;

beforeAll(async () => {
  await clusters.start();
  isthmus.writeManifest('alpha.yaml', clusters.alpha.manifest);
  isthmus.writeManifest('beta.yaml', clusters.beta.manifest);
  isthmus.writeManifest('broken.yaml', 'kind: OpenStackCluster\n  indented: wrong\n');
  await isthmus.start();
  await isthmus.untilState('alpha', 'serving');
  await isthmus.untilState('beta', 'serving');
  traffic = new ClientTraffic({ port: isthmus.port, cluster: clusters.beta });
  await traffic.residents(2);
  traffic.visitors(1);
});
afterAll(async () => {
  await traffic.stop();
  await isthmus.stop();
  await clusters.stop();
});

const admin = (): string[] => ['--admin', `127.0.0.1:${isthmus.adminPort}`];

async function piped(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [mainScript, 'top', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ISTHMUS_ADMIN: '' },
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    err += part;
  });
  const [code] = (await within(WAIT_MS, 'the end of top', once(child, 'close'))) as [number | null];
  return { code, out, err };
}

describe('in a pipe', () => {
  test('prints one table without escape sequences', async () => {
    const { code, out, err } = await piped(...admin(), '--interval', '500ms');
    expect([code, err]).toEqual([0, '']);
    expect(out).not.toContain('\x1b');
    expect(out).toMatch(/^isthmus \S+ on \S+: ready, up \d+/);
    expect(out).toMatch(/^2 clusters: 2 serving; 1 problem; control loop \d/m);
    expect(out).toMatch(/^! .*broken\.yaml/m);
    expect(out).toMatch(/^cluster +state +open\* +new\/s +fail\/s +in\/s +out\/s +up +netns$/m);
    const [beta, alpha] = out.trim().split('\n').slice(-2);
    // Two connections stay open and one client reconnects. The proxy may not have recorded the end of every connection yet.
    const [, open = ''] =
      /^beta +serving +(\d+) +\S+ +0 +\S+ +\S+ +1\/1 +ovnmeta-[-0-9a-f]{36}$/.exec(beta ?? '') ?? [];
    expect([beta, Number(open) >= 2]).toEqual([beta, true]);
    expect(alpha).toMatch(/^alpha +serving +0 +0 +0 +0 +0 +1\/1 +qdhcp-/);
  });

  test('prints JSON with --json, with new connections and their bytes', async () => {
    const { code, out } = await piped(...admin(), '--json', '--interval=2s');
    expect(code).toBe(0);
    const view = JSON.parse(out) as TopView;
    const beta = view.clusters.find(({ name }) => name === 'beta')!;
    expect(beta.connections).toBeGreaterThanOrEqual(2);
    for (const each of [view, beta]) {
      expect(each.newPerSecond).toBeGreaterThan(0);
      expect(each.bytesInPerSecond).toBeGreaterThan(0);
      expect(each.bytesOutPerSecond).toBeGreaterThan(0);
    }
    expect(view.overSeconds).toBeGreaterThanOrEqual(1.9);
    expect(view.clusters.find(({ name }) => name === 'alpha')).toMatchObject({
      newPerSecond: 0,
      bytesInPerSecond: 0,
    });
  });

  test('reports that no proxy runs and exits with 1, as status does', async () => {
    const { code, out, err } = await piped('--admin', '127.0.0.1:1');
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe(
      spawnSync(process.execPath, [mainScript, 'status', '--admin', '127.0.0.1:1']).stderr.toString(),
    );
    expect(err).toContain('no proxy answers at 127.0.0.1:1 (connect ECONNREFUSED');
  });

  test('rejects unknown arguments', async () => {
    expect(await piped('--interval', '1ms')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--interval: "1ms" is not valid. Use a duration from 200ms to 1m'),
    });
    expect(await piped('alpha')).toMatchObject({
      code: 2,
      err: expect.stringContaining('isthmus top takes'),
    });
  });
});

/** The program on its own pseudo-terminal. All output is kept. */
class Terminal {
  written = '';
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;

  constructor(args: readonly string[], environment: Record<string, string> = {}) {
    // The shell prints the name of its terminal, and at the end whether the line modes are restored.
    const command = [
      'stty cols 100 rows 20',
      'echo "tty $(tty)"',
      'before=$(stty -g)',
      `sh -c 'echo "pid $$"; exec "$@"' sh '${process.execPath}' '${mainScript}' top ${args.join(' ')}`,
      'echo "code $?"',
      '[ "$before" = "$(stty -g)" ] && echo "modes restored"',
    ].join('; ');
    this.#child = spawn('script', ['-qfec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NO_COLOR: '', TERM: 'xterm', ...environment },
    });
    this.#closed = once(this.#child, 'close');
    this.#child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      this.written += part;
    });
  }

  /** The pid of the program itself. */
  get pid(): number {
    return Number(/^pid (\d+)\r$/m.exec(this.written)?.[1]);
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  resize(columns: number, rows: number): void {
    const tty = /^tty (\S+)\r$/m.exec(this.written)?.[1] as string;
    spawnSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
  }

  /** The last completely drawn screen, as text. */
  get screen(): string[] {
    const whole = this.written.slice(0, this.written.lastIndexOf('\x1b[J'));
    return stripVTControlCharacters(whole.slice(whole.lastIndexOf('\x1b[H'))).split(/\r+\n/);
  }

  async shows(what: string, condition: (screen: readonly string[]) => boolean): Promise<void> {
    try {
      await until(what, () => condition(this.screen));
    } catch (error) {
      throw new Error(`${(error as Error).message}; it shows:\n${this.screen.join('\n')}`);
    }
  }

  /** Output after the program has restored the terminal. */
  async ended(): Promise<string> {
    await within(WAIT_MS, 'the end', this.#closed);
    const at = this.written.lastIndexOf(GIVEN_BACK);
    return at === -1
      ? `not given back: ${JSON.stringify(this.written)}`
      : this.written.slice(at + GIVEN_BACK.length);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

const TAKEN = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const GIVEN_BACK = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const hasScript = spawnSync('script', ['-qec', 'tty', '/dev/null'], { input: '' }).status === 0;

describe.skipIf(!hasScript)('on a terminal', () => {
  const rowOf = (screen: readonly string[], name: string) =>
    screen.find((line) => line.startsWith(`${name} `));

  test.each([
    ['q', 'q'],
    ['Ctrl-C', '\x03'],
  ])('updates, reacts to keys and resizing, and %s restores the terminal', async (_name, quit) => {
    const terminal = new Terminal([...admin(), '--interval', '300ms']);
    try {
      await terminal.shows('rates', (screen) => /^beta +serving +\d+ +\d/.test(rowOf(screen, 'beta') ?? ''));
      expect(terminal.written).toContain(TAKEN);
      expect(terminal.written).toContain('\x1b[32mserving');
      expect(terminal.screen.length).toBeLessThanOrEqual(20);
      expect(terminal.screen.at(-1)).toMatch(/^by connections; .*q quit$/);
      terminal.press('\x1b[B');
      terminal.press('n');
      await terminal.shows('another order', (screen) => screen.at(-1)?.startsWith('by name;') === true);
      expect(terminal.screen.findIndex((line) => line.startsWith('alpha '))).toBeLessThan(
        terminal.screen.findIndex((line) => line.startsWith('beta ')),
      );
      terminal.resize(60, 7);
      await terminal.shows(
        'the new size',
        (screen) => screen.length <= 7 && screen.every((line) => line.length <= 60),
      );
      terminal.press(quit);
      expect(await terminal.ended()).toBe('code 0\r\nmodes restored\r\n');
    } finally {
      await terminal.stop();
    }
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 0],
    ['SIGHUP', 129],
  ] as const)('restores the terminal on %s', async (signal, code) => {
    const terminal = new Terminal(admin());
    try {
      await terminal.shows('clusters', (screen) => rowOf(screen, 'beta') !== undefined);
      process.kill(terminal.pid, signal);
      expect(await terminal.ended()).toBe(`code ${code}\r\nmodes restored\r\n`);
    } finally {
      await terminal.stop();
    }
  });

  test('ends when the terminal closes', async () => {
    const terminal = new Terminal(admin());
    await terminal.shows('clusters', (screen) => rowOf(screen, 'beta') !== undefined);
    const { pid } = terminal;
    await terminal.stop();
    await until('it has ended', () => !isAlive(pid));
  });

  test('prints no colours if NO_COLOR is set', async () => {
    const terminal = new Terminal(admin(), { NO_COLOR: '1' });
    try {
      await terminal.shows('clusters', (screen) => rowOf(screen, 'beta') !== undefined);
      terminal.press('q');
      expect(await terminal.ended()).toContain('code 0');
      for (const code of ['0', '1', '2', '7', '32']) expect(terminal.written).not.toContain(`\x1b[${code}m`);
    } finally {
      await terminal.stop();
    }
  });

  test.each([
    ['with --once', ['--once'], {}],
    ['with TERM=dumb', [], { TERM: 'dumb' }],
  ])('%s it prints the same output as in a pipe', async (_title, args, environment) => {
    const terminal = new Terminal([...admin(), '--interval', '200ms', ...args], environment);
    try {
      await until('the end', () => terminal.written.includes('code 0'));
      expect(terminal.written).not.toContain('\x1b');
      expect(terminal.written).toMatch(/^beta +serving/m);
    } finally {
      await terminal.stop();
    }
  });

  test('reports that the proxy is gone, retries, and shows no rate of the next proxy too early', async () => {
    const other = new Isthmus();
    other.writeManifest('alpha.yaml', clusters.alpha.manifest);
    // A port outside the ephemeral range: top asks it while no proxy listens, and the next proxy binds it again.
    const port = `127.0.0.1:${await freePort()}`;
    const { launch } = other;
    other.launch = (args) => launch(args.map((each, index) => (args[index - 1] === '--admin' ? port : each)));
    await other.start();
    const terminal = new Terminal(['--admin', port, '--interval', '300ms']);
    try {
      await terminal.shows('rates', (screen) => screen[1]?.includes(', 0 new/s') === true);
      other.signal('SIGKILL');
      await terminal.shows(
        'that it is gone',
        (screen) => screen[0]?.startsWith(`no proxy answers at ${port}`) === true,
      );
      expect(rowOf(terminal.screen, 'alpha')).toMatch(/serving/);
      await other.ended();
      other.log.length = 0;
      await other.start();
      await terminal.shows('that it is back', (screen) => /^isthmus .*: ready/.test(screen[0] ?? ''));
      await terminal.shows('rates again', (screen) => screen[1]?.includes(', 0 new/s') === true);
      expect(stripVTControlCharacters(terminal.written)).not.toMatch(/ -\d/);
      terminal.press('q');
      expect(await terminal.ended()).toBe('code 0\r\nmodes restored\r\n');
    } finally {
      await terminal.stop();
      await other.stop();
    }
  });
});
