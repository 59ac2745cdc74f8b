// The inner end of the ports that `npm run demo` forwards into its sandbox: Unix sockets that connect to the demo's TCP ports.
import { mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const NAMES = ['admin', 'proxy', 'management'] as const;

export interface DemoForwards {
  /** The directory for the Unix sockets, on the sandbox's own /run. */
  readonly directory: string;
  /** The ports on the host's loopback. */
  readonly ports: Readonly<Record<(typeof NAMES)[number], number>>;
  /** A directory that the host and the sandbox share, for files to use outside. Removed when the demo ends. */
  readonly shared: string;
}

export function readForwards(text: string | undefined): DemoForwards | null {
  return text === undefined ? null : (JSON.parse(text) as DemoForwards);
}

export function serveForwards(forwards: DemoForwards, inside: DemoForwards['ports']): void {
  mkdirSync(forwards.directory, { recursive: true });
  for (const name of NAMES) {
    const server = createServer({ allowHalfOpen: true }, (outer) => {
      const inner = connect({ host: '127.0.0.1', port: inside[name], allowHalfOpen: true });
      outer.on('error', () => inner.destroy());
      inner.on('error', () => outer.destroy());
      outer.pipe(inner).pipe(outer);
    });
    server.listen(join(forwards.directory, `${name}.sock`));
    server.unref();
  }
}
