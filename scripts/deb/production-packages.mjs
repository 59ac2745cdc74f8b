// Lists the packages of node_modules that the running program needs, from the lock file. It excludes packages that serve only
// development or only compilation.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Type declarations, the headers of the addon's C++ wrapper, and the pinned Node. */
const COMPILE_ONLY = /(^|\/)(@types\/[^/]+|undici-types|node-addon-api|@isthmus\/pinned-node)$/;

/** Returns paths below `root`, such as node_modules/pino. */
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
