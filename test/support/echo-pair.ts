// A separate process with an echo server and a client. The client plays ping-pong through a proxy, on one connection or on a new
// connection for each turn. It continues while the event loop of the test is busy.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { WAIT_MS, within } from './tcp.ts';

const SCRIPT = `
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
const now = () => performance.timeOrigin + performance.now();
const server = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1', () => say(server.address().port));
const spans = [];
let begun = 0, going = true;
/** The end of one turn. The first turn includes work that waits for JavaScript. */
const turned = (again) => {
  if (begun > 0) spans.push([begun, now()]);
  else say('going');
  begun = now();
  if (going) again();
};
const visit = (port, hello) => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(hello));
  let heard = 0;
  socket.on('data', (chunk) => {
    heard += chunk.length;
    if (heard < hello.length) return;
    socket.end();
    turned(() => visit(port, hello));
  });
};
const ping = (port) => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const send = () => socket.write('x');
  socket.on('data', () => turned(send)).on('connect', send);
};
const lines = createInterface({ input: process.stdin });
lines.once('line', (line) => {
  const [port, hello] = line.split(' ');
  if (hello) visit(Number(port), Buffer.from(hello, 'hex'));
  else ping(Number(port));
  lines.once('line', (times) => {
    going = false;
    const [from, to] = times.split(' ').map(Number);
    const ends = spans.map(([, end]) => end).filter((end) => end > from && end < to);
    const gaps = [from, ...ends].map((end, index) => (ends[index] ?? to) - end);
    const within = spans.filter(([begin, end]) => begin >= from && end <= to).length;
    say({ turns: spans.length, within, gapMs: gaps.reduce((most, gap) => Math.max(most, gap), 0) });
  });
});
`;

/** This clock is the same in every process. */
export const clockMs = () => performance.timeOrigin + performance.now();

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

  /** Resolves when bytes flow in both directions. */
  async pingThrough(port: number): Promise<void> {
    this.#child.stdin.write(`${port}\n`);
    await next(this.#lines);
  }

  /** Like the method above, with a new connection for each turn. Each connection starts with this hello. */
  async visitThrough(port: number, hello: Uint8Array): Promise<void> {
    this.#child.stdin.write(`${port} ${Buffer.from(hello).toString('hex')}\n`);
    await next(this.#lines);
  }

  /** Ends the process. `within` counts the turns that start and end between these two times of `clockMs`. */
  async result(fromMs: number, toMs: number): Promise<{ turns: number; within: number; gapMs: number }> {
    this.#child.stdin.write(`${fromMs} ${toMs}\n`);
    return JSON.parse(await next(this.#lines)) as { turns: number; within: number; gapMs: number };
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await within(WAIT_MS, 'the exit of the echo pair', once(this.#child, 'exit'));
  }
}

async function next(lines: Interface): Promise<string> {
  const [line] = (await within(WAIT_MS, 'a line of the echo pair', once(lines, 'line'))) as [string];
  return line;
}
