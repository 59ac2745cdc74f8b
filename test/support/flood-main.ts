// Attacks a port from a separate process: keeps a number of connections open and reopens each connection when it ends.
// Its argument is FloodOptions as JSON.
import { connect, type Socket } from 'node:net';
import type { FloodOptions } from './flood.ts';

const options = JSON.parse(process.argv[2] as string) as FloodOptions;
const { port, connections, sources, begin, trickle, reads } = options;
const REOPEN_MS = 1;
const TRICKLE_MS = 100;
const trickling = new Set<Socket>();
let opened = 0;

/** Source addresses start at 127.1.0.1; probes come from 127.0.0.1. */
function source(index: number): string {
  const which = index % sources;
  return `127.1.${Math.floor(which / 250)}.${(which % 250) + 1}`;
}

function open(index: number): void {
  const socket = connect({ port, host: '127.0.0.1', localAddress: source(index) });
  socket.on('connect', () => {
    opened += 1;
    if (begin !== '') socket.write(begin);
    if (trickle !== '') trickling.add(socket);
    if (opened === connections) process.stdout.write('open\n');
  });
  if (reads) socket.resume();
  else socket.pause();
  socket.on('error', () => {});
  socket.on('close', () => {
    trickling.delete(socket);
    setTimeout(open, REOPEN_MS, index);
  });
}

// If this process does not read from a connection, only a write shows that the peer has closed it.
setInterval(() => {
  for (const socket of trickling) socket.write(trickle);
}, TRICKLE_MS);
for (let index = 0; index < connections; index += 1) open(index);
process.stdin.on('end', () => process.exit()).resume();
process.stdin.on('data', () => process.stdout.write(`${opened}\n`));
