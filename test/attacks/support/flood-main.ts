// The attacker process that Flood starts. It keeps many plain TCP connections to one port and prints its counts ten times a second. The
// first line of its standard input contains the options. After the second line all connections send their hello.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import type { FloodCounts, FloodOptions } from './flood.ts';

const lines = createInterface({ input: process.stdin });
const [first] = (await once(lines, 'line')) as [string];
const options = JSON.parse(first) as FloodOptions;
const hellos = options.hellosHex.map((hex) => Buffer.from(hex, 'hex'));
const SEND_CHUNK = Buffer.alloc(64 * 1024, 0x17);
/** Below the listener's backlog of 4096: a SYN that the kernel drops costs the attacker a second. */
const MOST_CONNECTING = 512;
const RETRY_MS = 50;
const FIRST_PORT = 10_000;
const LAST_PORT = 60_000;
const counts: FloodCounts = { open: 0, connects: 0, spoken: 0, endings: 0, bytesRead: 0, answers: {} };

interface Attacker {
  readonly source: string;
  readonly hello: Buffer;
  /** Chosen here: with thousands of sockets bound to one address, the kernel needs milliseconds to find a free port. */
  port: number;
  socket: Socket | null;
  saidBytes: number;
  readBytes: number;
  answered: boolean;
}

const perSource = Math.ceil(options.count / options.sources.length);
const attackers: Attacker[] = Array.from({ length: options.count }, (_, index) => ({
  source: options.sources[index % options.sources.length] as string,
  hello: hellos[index % hellos.length] ?? Buffer.alloc(0),
  port: FIRST_PORT + Math.floor(index / options.sources.length),
  socket: null,
  saidBytes: 0,
  readBytes: 0,
  answered: false,
}));
const waiting = [...attackers];
let speaksAtOnce = options.speaks === 'at-once';
let connecting = 0;

function openMore(): void {
  const next = waiting.splice(0, MOST_CONNECTING - connecting);
  for (const attacker of next) open(attacker);
}

function open(attacker: Attacker): void {
  connecting += 1;
  let isOpen = false;
  // The socket stays half-open, because an attacker does not close after a FIN.
  const socket = connect({
    port: options.port,
    host: '127.0.0.1',
    localAddress: attacker.source,
    localPort: attacker.port,
    allowHalfOpen: true,
  });
  Object.assign(attacker, { socket, saidBytes: 0, readBytes: 0, answered: false });
  if (options.readsBytes === 0) socket.pause();
  else socket.on('data', (chunk: Buffer) => read(attacker, chunk));
  socket.on('connect', () => {
    connecting -= 1;
    isOpen = true;
    counts.open += 1;
    counts.connects += 1;
    if (speaksAtOnce) speak(attacker);
    openMore();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => answered(attacker, error.code ?? error.message));
  socket.on('end', () => {
    answered(attacker, 'end');
    if (options.holdsAfterEndMs === null) socket.destroy();
    else setTimeout(() => socket.destroy(), options.holdsAfterEndMs);
  });
  socket.on('close', () => {
    if (isOpen) counts.open -= 1;
    else connecting -= 1;
    attacker.socket = null;
    // Takes the next port of this attacker. The old port can stay busy for a while.
    attacker.port += perSource;
    if (attacker.port > LAST_PORT) attacker.port = FIRST_PORT + ((attacker.port - FIRST_PORT) % perSource);
    counts.endings += 1;
    if (options.reopensAfterMs === null) return;
    const again = () => {
      waiting.push(attacker);
      openMore();
    };
    // If the connect failed, retry after a delay: the port may still be busy.
    const delayMs = isOpen ? options.reopensAfterMs : Math.max(RETRY_MS, options.reopensAfterMs);
    if (delayMs === 0) setImmediate(again);
    else setTimeout(again, delayMs);
  });
}

/** Counts only the first event of a connection: an alert's description, `data`, `end` or an error code. */
function answered(attacker: Attacker, answer: string): void {
  if (attacker.answered) return;
  attacker.answered = true;
  counts.answers[answer] = (counts.answers[answer] ?? 0) + 1;
}

function read(attacker: Attacker, chunk: Buffer): void {
  answered(attacker, chunk[0] === 0x15 && chunk.length >= 7 ? `alert-${chunk[6]}` : 'data');
  attacker.readBytes += chunk.length;
  counts.bytesRead += chunk.length;
  if (options.readsBytes !== null && attacker.readBytes >= options.readsBytes) attacker.socket?.pause();
}

function speak(attacker: Attacker): void {
  const { socket, hello } = attacker;
  if (socket === null || attacker.saidBytes > 0) return;
  attacker.saidBytes = hello.length;
  counts.spoken += 1;
  socket.write(hello);
  if (options.sendsForever) send(socket);
}

function send(socket: Socket): void {
  while (!socket.destroyed && socket.write(SEND_CHUNK));
  if (!socket.destroyed) socket.once('drain', () => send(socket));
}

/** Sends one more byte of each hello, but never the last byte. */
function trickle(): void {
  for (const attacker of attackers) {
    const { socket, hello, saidBytes } = attacker;
    if (socket?.readyState !== 'open' || saidBytes >= hello.length - 1) continue;
    socket.write(hello.subarray(saidBytes, saidBytes + 1));
    attacker.saidBytes += 1;
  }
}

lines
  .on('line', () => {
    speaksAtOnce = true;
    for (const attacker of attackers) speak(attacker);
  })
  .on('close', () => process.exit(0));
setInterval(() => process.stdout.write(`${JSON.stringify(counts)}\n`), 100);
if (options.speaks === 'byte-by-byte') setInterval(trickle, 1000);
// Real attackers run on other machines, so this process leaves the cores to the proxy and its clients.
setPriority(5);
openMore();
