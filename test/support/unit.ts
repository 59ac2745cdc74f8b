// Plays systemd for one service. It starts the built program as a unit would, with NOTIFY_SOCKET and optional sockets, keeps the log,
// follows MAINPID, and ends every process of the unit.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { descriptorOf } from '../../src/netns/descriptor.ts';
import type { StatusView } from '../../src/telemetry/status/status.ts';
import { handedOver } from './handed-over.ts';
import { type LoggedLine, mainScript } from './isthmus.ts';
import { NotifyReceiver } from './notify-receiver.ts';
import { until, WAIT_MS, within } from './tcp.ts';
import { traced } from './traced.ts';

export class Unit {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-unit-'));
  readonly log: LoggedLine[] = [];
  /** Log lines that are not JSON. */
  readonly text: string[] = [];
  readonly environment: Record<string, string> = {};
  /** Sockets that systemd opened, by their names. */
  readonly sockets = new Map<string, number>();
  /** The program that the unit starts: the compiled program, unless a test replaces it. */
  program = mainScript;
  #notify: NotifyReceiver | null = null;
  readonly #children: ChildProcess[] = [];

  get handover(): string {
    return join(this.directory, 'run');
  }

  get notify(): NotifyReceiver {
    return this.#notify as NotifyReceiver;
  }

  get mainPid(): number {
    const named = this.notify.all.filter(({ fields }) => fields.MAINPID !== undefined);
    return Number(named.at(-1)?.fields.MAINPID ?? -1);
  }

  /** The first start of the unit, or a restart with the same sockets. */
  async start(...flags: readonly string[]): Promise<ChildProcess> {
    this.#notify ??= await NotifyReceiver.start(join(this.directory, 'notify.sock'));
    const names = [...this.sockets.keys()];
    const listen =
      names.length === 0 ? {} : { LISTEN_FDS: String(names.length), LISTEN_FDNAMES: names.join(':') };
    // The shell replaces itself with the program. Only the shell has the pid in time for LISTEN_PID.
    const script = names.length === 0 ? 'exec "$@"' : 'LISTEN_PID=$$ exec "$@"';
    const command = traced(process.execPath, this.program, 'run', '--log-level', 'debug', ...flags);
    const child = spawn(
      'sh',
      ['-c', names.length === 0 ? script : `export LISTEN_PID=$$; ${script}`, 'sh', ...command],
      {
        stdio: ['ignore', 'pipe', 'inherit', ...this.sockets.values()],
        env: { ...process.env, NOTIFY_SOCKET: this.notify.address, ...listen, ...this.environment },
      },
    );
    this.#children.push(child);
    createInterface({ input: child.stdout! }).on('line', (line) => {
      try {
        this.log.push(JSON.parse(line) as LoggedLine);
      } catch {
        this.text.push(line);
      }
    });
    return child;
  }

  async ready(...flags: readonly string[]): Promise<ChildProcess> {
    const before = this.#notify?.all.length ?? 0;
    const said = this.logged('serving').length;
    const child = await this.start(...flags);
    await until(
      'the service is ready',
      () =>
        child.exitCode !== null ||
        (this.logged('serving').length > said &&
          this.notify.all.slice(before).some(({ fields }) => fields.READY === '1')),
    );
    if (child.exitCode !== null)
      throw new Error(`it ended: ${JSON.stringify(this.log.at(-1))} ${this.text.at(-1)}`);
    return child;
  }

  /** ExecReload=: resolves with its output and its exit code. */
  async reload(
    environment: Readonly<Record<string, string>> | null = null,
  ): Promise<{ code: number; text: string }> {
    const withEnvironment = environment === null ? [] : ['--with-environment'];
    const reload = ['reload', '--handover', this.handover, ...withEnvironment];
    const [command, ...args] = traced(process.execPath, mainScript, ...reload);
    return new Promise((resolve) => {
      const env = { ...process.env, ...environment };
      execFile(command, args, { env, timeout: 150_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), text: stdout + stderr }),
      );
    });
  }

  logged(msg: string): LoggedLine[] {
    return this.log.filter((line) => line.msg === msg);
  }

  /** The port of the process that reported it last. */
  port(of: 'listen' | 'admin' = 'listen'): number {
    return Number(String(this.logged('serving').at(-1)?.[of]).split(':').at(-1));
  }

  async status(): Promise<StatusView> {
    return (await (await fetch(`http://127.0.0.1:${this.port('admin')}/status`)).json()) as StatusView;
  }

  async openSocket(name: string, host = '127.0.0.1'): Promise<number> {
    const server = createServer().listen(0, host);
    await within(WAIT_MS, 'the server to listen', once(server, 'listening'));
    const { port } = server.address() as { port: number };
    // systemd listens but does not accept, which Node cannot do. Only the descriptor is kept.
    const [fd] = await handedOver(descriptorOf(server));
    server.close();
    this.sockets.set(name, fd as number);
    return port;
  }

  /** Replaces the packaged program, as an upgrade does. */
  replaceProgram(text: string): void {
    writeFileSync(this.program, text);
  }

  isAlive(pid: number): boolean {
    try {
      return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  }

  async ended(pid: number, milliseconds = WAIT_MS): Promise<void> {
    await until(`process ${pid} has ended`, () => !this.isAlive(pid), milliseconds);
  }

  async stop(): Promise<void> {
    const pids = new Set(this.#notify?.all.map(({ pid }) => pid) ?? []);
    for (const pid of [...pids, this.#notify === null ? -1 : this.mainPid]) {
      try {
        if (pid > 0) process.kill(pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await within(WAIT_MS, 'its end', once(child, 'exit'));
    }
    if (this.#notify !== null) await until('no process of the unit is left', () => this.#killAll() === 0);
    for (const fd of this.sockets.values()) closeSync(fd);
    await this.#notify?.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** As systemd does with the cgroup. Only this finds a successor that has not notified yet; it would keep the test's stderr open. */
  #killAll(): number {
    const mark = `NOTIFY_SOCKET=${this.notify.address}\0`;
    const pids = readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && environmentOf(name).includes(mark),
    );
    for (const pid of pids) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    }
    return pids.length;
  }
}

/** Empty for an ended process and for a process of another user. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
