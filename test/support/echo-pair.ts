// A process of its own with an echo server and a client that plays ping-pong through a proxy, on one connection or on a new one each
// time: it goes on while we are busy.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { WAIT_MS, within } from './tcp.ts';

const SCRIPT = `
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
const server = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1', () => say(server.address().port));
const visit = (port, hello) => {
  let turns = 0, slowestMs = 0, until = Infinity;
  const next = () => {
    const started = performance.now();
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(hello));
    let heard = 0;
    socket.on('data', (chunk) => {
      heard += chunk.length;
      if (heard < hello.length) return;
      socket.end();
      const now = performance.now();
      if (until === Infinity) { until = now + 600; say('going'); }
      else { turns += 1; slowestMs = Math.max(slowestMs, now - started); }
      if (now > until) say({ turns, slowestMs });
      else next();
    });
  };
  next();
};
createInterface({ input: process.stdin }).once('line', (line) => {
  const [port, hello] = line.split(' ');
  if (hello) return visit(Number(port), Buffer.from(hello, 'hex'));
  const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true });
  let sent = 0, turns = 0, slowestMs = 0, until = Infinity;
  const ping = () => { sent = performance.now(); socket.write('x'); };
  socket.on('data', () => {
    const now = performance.now();
    // The first turn includes the connecting, which does wait for JavaScript.
    if (until === Infinity) { until = now + 600; say('going'); }
    else { turns += 1; slowestMs = Math.max(slowestMs, now - sent); }
    if (now > until) say({ turns, slowestMs });
    else ping();
  });
  socket.on('connect', ping);
});
`;

export class EchoPair {
  readonly echoPort: number;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, null>,
    lines: Interface,
    echoPort: number,
  ) {
    this.#child = child;
    this.#lines = lines;
    this.echoPort = echoPort;
  }

  static async start(): Promise<EchoPair> {
    const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    return new EchoPair(child, lines, Number(await next(lines)));
  }

  /** Resolves once bytes go to and fro. */
  async pingThrough(port: number): Promise<void> {
    this.#child.stdin.write(`${port}\n`);
    await next(this.#lines);
  }

  /** The same with a new connection for each turn, which begins with this hello. */
  async visitThrough(port: number, hello: Uint8Array): Promise<void> {
    this.#child.stdin.write(`${port} ${Buffer.from(hello).toString('hex')}\n`);
    await next(this.#lines);
  }

  async result(): Promise<{ turns: number; slowestMs: number }> {
    return JSON.parse(await next(this.#lines)) as { turns: number; slowestMs: number };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }
}

async function next(lines: Interface): Promise<string> {
  const [line] = (await within(WAIT_MS, 'a line', once(lines, 'line'))) as [string];
  return line;
}
