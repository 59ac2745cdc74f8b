// Runs beside the API server of a workload cluster for the tests of streams: a kubelet with one log (`/containerLogs/…`, TLS on 10250),
// and a program in a Pod that answers an upgrade with an echo (8080). `<address> <cert> <key>`.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttps } from 'node:https';

const [address, cert, key] = process.argv.slice(2) as [string, string, string];

const kubelet = createHttps({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
  if (request.url?.startsWith('/containerLogs/') !== true) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.write('first line\n');
  setTimeout(() => response.end('last line\n'), 20_000);
});

const program = createServer((_request, response) => response.end('no upgrade, no echo\n'));
program.on('upgrade', (_request, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
  socket.on('error', () => {});
  socket.pipe(socket);
});

kubelet.listen(10250, address, () =>
  program.listen(8080, address, () => process.stdout.write('listening\n')),
);
process.stdin.on('end', () => process.exit(0));
process.stdin.resume();
