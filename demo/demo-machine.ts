// Stands in for a machine of a cluster in the demo: says its name to whoever connects, and hangs up. A process of its own inside the
// cluster's netns: demo-machine <name> <address> <port>.
import { createServer } from 'node:net';

const [name, address, port] = process.argv.slice(2) as [string, string, string];
const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.end(`${name}\n`);
});
server.listen(Number(port), address, () => process.stdout.write('listening\n'));
