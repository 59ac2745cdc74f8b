// Which packages of node_modules the program needs when it runs, read off the lock file: what is not only for development, less what is
// only for compiling.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Declarations, and the headers of the addon's C++ wrapper. */
const COMPILE_ONLY = /(^|\/)(@types\/[^/]+|undici-types|node-addon-api|@isthmus\/pinned-node)$/;

/** Paths below `root`, such as node_modules/pino. */
export function productionPackages(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(packages)
    .filter(
      ([path, { dev, devOptional, link }]) =>
        path.startsWith('node_modules/') && !dev && !devOptional && !link,
    )
    .map(([path]) => path)
    .filter((path) => !COMPILE_ONLY.test(path))
    .sort();
}
