// Builds the real Kubernetes and CoreDNS for the end-to-end tests (test/e2e/testbed), outside the work tree, once per content hash
// of the sources. Only this step needs Go and the network. The tests run in the sandbox, which has no network.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { MissingError, onPath } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';
import { runStep } from '../setup/step.mjs';

const KEPT_BUILDS = 2;
const sourcesOf = (module) => join(root, 'test', 'e2e', module);

/** The programs that the tests start. If the directory in KUBEBUILDER_ASSETS holds all of them, no build is needed. */
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl', 'coredns'];

export function cacheDirectory() {
  if (process.env.ISTHMUS_TESTBED_CACHE) return process.env.ISTHMUS_TESTBED_CACHE;
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'isthmus');
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function kubernetesStamps() {
  const sources = sourcesOf('testbed');
  const module = readFileSync(join(sources, 'go.mod'), 'utf8');
  const version = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\S+)$/m.exec(module);
  if (version === null) throw new Error(`${sources}/go.mod requires no k8s.io/kubernetes`);
  const at = 'k8s.io/component-base/version';
  return ` -X ${at}.gitVersion=${version[1]} -X ${at}.gitMajor=${version[2]} -X ${at}.gitMinor=${version[3]}`;
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

/** Returns the version of Go in `cwd`, or throws if Go is missing. A Go that is too old for the module reports that itself. */
function requireGo(cwd) {
  if (onPath('go')) return execFileSync('go', ['version'], { cwd, encoding: 'utf8' }).trim();
  throw new MissingError([
    {
      what: '`go` is not on the PATH: the real kube-apiserver, etcd and the others of the end-to-end tests are built with it',
      fix:
        'install Go 1.25 or later, or name a directory that holds ' +
        `${COMPONENTS.join(', ')} in KUBEBUILDER_ASSETS (\`npm test\` needs none of this)`,
    },
  ]);
}

function removeOldBuilds(cache, module, kept) {
  const builds = readdirSync(cache)
    .filter((name) => name.startsWith(`${module}-`) && name !== kept)
    .map((name) => ({ name, at: statSync(join(cache, name)).mtimeMs }))
    .sort((left, right) => right.at - left.at);
  for (const { name } of builds.slice(KEPT_BUILDS - 1))
    rmSync(join(cache, name), { recursive: true, force: true });
}

/**
 * Returns the binary of one Go module of test/e2e and builds it if needed; `title` is shown during the build. `target` can name a
 * package of another module that is built as a tool. `tags` are Go build tags.
 */
export async function ensureBuild(module, stamps, title, target = '.', tags = []) {
  const sources = sourcesOf(module);
  const args = [
    'build',
    '-v',
    '-trimpath',
    '-ldflags',
    `-s -w${stamps}`,
    ...(tags.length === 0 ? [] : [`-tags=${tags.join(',')}`]), // one flag for all tags: Go uses only the last -tags
  ];
  const name = `${module}-${contentHash(sources, requireGo(sources), args)}`;
  const cache = cacheDirectory();
  const binary = join(cache, name, module);
  mkdirSync(cache, { recursive: true });
  await withLock(join(cache, `${module}.lock`), async () => {
    if (isExecutable(binary)) return;
    const unfinished = join(cache, `${name}.unfinished`);
    let packages = 0;
    await runStep(title, 'nice', ['-n', '19', 'go', ...args, '-o', unfinished, target], {
      cwd: sources,
      env: { ...process.env, CGO_ENABLED: '0' },
      // `go build -v` prints one line per compiled package.
      progress: (chunk) => {
        packages += chunk.split('\n').length - 1;
        return `${packages} packages`;
      },
    });
    mkdirSync(join(cache, name), { recursive: true });
    renameSync(unfinished, binary);
    removeOldBuilds(cache, module, name);
  });
  if (!existsSync(binary)) throw new Error(`${binary} was not built`);
  return binary;
}

/** Returns the environment variable that tells the tests where their components are. */
export async function ensureTestbed() {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets && COMPONENTS.every((name) => isExecutable(join(assets, name)))) {
    process.stderr.write(`· the components of ${assets} (KUBEBUILDER_ASSETS) are used\n`);
    return { ISTHMUS_TESTBED_ASSETS: assets };
  }
  const title = 'building kube-apiserver, etcd and the others from Go modules (6 to 15 minutes, once)';
  return { ISTHMUS_TESTBED: await ensureBuild('testbed', kubernetesStamps(), title) };
}
