// Carries TCP ports of this machine's loopback into the sandbox, whose network is its own, over Unix sockets in the sandbox's own
// /run: so the demo's page and its proxy can be reached with an ordinary browser and an ordinary client.
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const listen = (server, port) =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve(server.address().port);
    });
  });

/**
 * `wanted` maps a name to the preferred port; a busy port is replaced by a free one. `directory` is where the sandbox keeps its
 * ends, as seen inside; `sandboxRoot` tells where the inside is.
 */
export async function openForwards(wanted, directory, sandboxRoot) {
  const ports = {};
  for (const [name, port] of Object.entries(wanted)) {
    const server = createServer({ allowHalfOpen: true }, (outside) => {
      outside.on('error', () => {});
      const root = sandboxRoot();
      if (root === null) {
        outside.destroy();
        return;
      }
      const inside = connect({ path: join(root, directory, `${name}.sock`), allowHalfOpen: true });
      outside.on('error', () => inside.destroy());
      inside.on('error', () => outside.destroy());
      outside.pipe(inside).pipe(outside);
    });
    server.unref();
    ports[name] = await listen(server, port).catch(() => listen(server, 0));
  }
  return ports;
}
