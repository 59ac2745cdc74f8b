// Forwards TCP ports on this machine's loopback into the sandbox, which has its own network. The bytes cross over Unix sockets in
// the sandbox's /run. An ordinary browser or client can then reach the demo's page and its proxy.
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
 * `wanted` maps a name to the preferred port; a free port replaces a busy one. `directory` holds the sandbox's sockets, as a path
 * inside the sandbox. `sandboxRoot` returns the sandbox's root directory as seen from outside, or null.
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
