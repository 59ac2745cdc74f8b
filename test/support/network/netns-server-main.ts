// The server that NetnsServer starts: `<mode> <address> <port> [name cert key]`. Modes:
//   https  answers every request with its name     echo  sends back all input          hash  prints the hash of its input
//   name   sends <name> at once, and again for each line of input
//   banner sends its first argument at once, as an SSH server does, and then echoes
//   silent reads and sends nothing                 deaf  never reads
//   source sends <n> bytes of a known pattern, then FIN    hold  accepts and sends nothing; `reset`, `end`, `data` on stdin act
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { patternChunks } from '../pattern.ts';

const [mode, address, port, ...rest] = process.argv.slice(2) as [string, string, string, ...string[]];
const say = (line: string) => process.stdout.write(`${line}\n`);
const open = new Set<Socket>();

const handlers: Record<string, (socket: Socket) => void> = {
  echo: (socket) => void socket.pipe(socket),
  name: (socket) => {
    socket.write(`${rest[0]}\n`);
    socket.on('data', () => socket.write(`${rest[0]}\n`));
    socket.on('end', () => socket.end());
  },
  banner: (socket) => {
    socket.write(`${rest[0]}\r\n`);
    socket.pipe(socket);
  },
  hash: (socket) => {
    const hash = createHash('sha256');
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      hash.update(chunk);
    });
    socket.on('end', () => {
      const digest = hash.digest('hex');
      say(`${bytes} ${digest}`);
      socket.end(digest);
    });
  },
  source: (socket) => {
    socket.resume();
    Readable.from(patternChunks(Number(rest[0]))).pipe(socket);
  },
  silent: (socket) => void socket.resume().on('end', () => socket.end()),
  deaf: (socket) => void socket.pause(),
  hold: (socket) => {
    say('accepted');
    socket.on('data', (chunk: Buffer) => say(`got ${chunk.length}`));
    socket.on('end', () => say('end'));
    socket.on('close', () => say('close'));
  },
};

function listen(): void {
  if (mode === 'https') {
    const [name, cert, key] = rest as [string, string, string];
    const server = createHttps({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) => {
      response.end(`I am ${name}\n`);
    });
    server.on('tlsClientError', () => {});
    server.listen(Number(port), address, 4096, () => say('listening'));
    return;
  }
  const handler = handlers[mode];
  if (handler === undefined) throw new Error(`no mode ${mode}`);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('error', (error: NodeJS.ErrnoException) => mode === 'hold' && say(`error ${error.code}`));
    socket.on('close', () => open.delete(socket));
    handler(socket);
  });
  server.listen(Number(port), address, 4096, () => say('listening'));
}

createInterface({ input: process.stdin }).on('line', (line) => {
  for (const socket of open) {
    if (line === 'reset') socket.resetAndDestroy();
    else if (line === 'end') socket.end();
    else socket.write(line);
  }
});
process.stdin.on('end', () => process.exit(0));
listen();
