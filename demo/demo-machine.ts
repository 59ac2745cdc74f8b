// Replaces a machine of a cluster in the demo: sends its name to each client and closes the connection. A separate process in the
// cluster's netns: demo-machine <name> <address> <port>.
import { createServer } from 'node:net';

const [name, address, port] = process.argv.slice(2) as [string, string, string];
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.end(`${name}\n`);
});
server.listen(Number(port), address, () => process.stdout.write('listening\n'));
