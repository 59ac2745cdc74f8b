// The entry point of every npm script. It starts on any Node that the machine has, sets up what is missing, and runs the task on
// the pinned Node. `node scripts/task.mjs` without arguments lists the tasks.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureHelm, ensureMonitoringDefinitions, ensurePromtool } from './fetch/chart-tools.mjs';
import { ensureCrun, ensurePacketFilter } from './fetch/debian.mjs';
import { ensureTestbed } from './fetch/testbed.mjs';
import { ensureUpstream } from './fetch/upstream.mjs';
import { openForwards } from './sandbox/forward.mjs';
import { leaveWithNpm, requireSandbox, runInSandbox } from './sandbox/sandbox.mjs';
import { MissingError, requireTools } from './setup/problems.mjs';
import { childEnvironment, pinnedNode, root, setUp } from './setup/setup.mjs';
import { runEndToEnd } from './test/end-to-end.mjs';
import { runNightly } from './test/nightly.mjs';
import { privilegedTests, runUnprivileged } from './test/privileges.mjs';
import { runVitest } from './test/second-look.mjs';

const bin = (...parts) => join(root, 'node_modules', ...parts);
const vitest = bin('vitest', 'vitest.mjs');

function run(args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(pinnedNode, args, { cwd: root, env: childEnvironment(env), stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.on(signal, () => signal === 'SIGTERM' && child.kill(signal));
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

const sandboxed = (args, env = {}) =>
  runInSandbox(pinnedNode, args, { cwd: root, env: childEnvironment(env) });

/** Runs all test files of a configuration, or only the chosen ones. In CI, failed files run again (second-look.mjs). */
const tests = (config, chosen, { env = {}, all = [] } = {}) =>
  runVitest((args, own) => sandboxed([vitest, 'run', ...args], { ...env, ...own }), config, chosen, { all });

/** A directory that this process and the sandbox both see; it is removed at exit. The sandbox shares every directory except /run. */
function sharedDirectory() {
  const preferred = realpathSync(tmpdir());
  const directory = mkdtempSync(join(preferred.startsWith('/run') ? '/tmp' : preferred, 'isthmus-demo-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function inOrder(commands) {
  for (const args of commands) {
    const code = await run(args);
    if (code !== 0) return code;
  }
  return 0;
}

const tasks = {
  setup: {
    about:
      'install dependencies, compile the addon and the TypeScript (the other tasks do this by themselves)',
    run: async () => {
      await setUp();
      return 0;
    },
  },
  demo: {
    about:
      'publish isolated clusters that share one address as Services and kubeconfigs, and reach them (-- --once: verify and exit)',
    run: async (args) => {
      requireSandbox();
      await setUp();
      const directory = '/run/isthmus-demo';
      let sandboxRoot = () => null;
      // Tests set this variable: the fixed ports may be in use on the same machine.
      const anyPort = process.env.ISTHMUS_TEST_ANY_PORT !== undefined;
      const wanted = anyPort
        ? { admin: 0, proxy: 0, management: 0 }
        : { admin: 9580, proxy: 6443, management: 7443 };
      const ports = await openForwards(wanted, directory, () => sandboxRoot());
      const shared = sharedDirectory();
      return runInSandbox(pinnedNode, [join(root, 'demo', 'main.ts'), ...args], {
        cwd: root,
        env: childEnvironment({ ISTHMUS_DEMO_FORWARDS: JSON.stringify({ directory, ports, shared }) }),
        onStart: (found) => {
          sandboxRoot = found;
        },
      });
    },
  },
  test: {
    about: 'run all tests in real network namespaces (-- <file> runs one)',
    run: async (args) => {
      requireSandbox();
      await setUp();
      return tests([], args);
    },
  },
  'test:privileges': {
    about: 'run only the tests whose result depends on the privileges of the user who runs them',
    run: async (args) => {
      requireSandbox();
      await setUp();
      return tests([], args, { all: privilegedTests() });
    },
  },
  'test:unprivileged': {
    about:
      'run the demo and test:privileges as the user nobody, in a copy of this clone (as root; -- --all: all tests)',
    run: async (args) => {
      await setUp();
      return runUnprivileged(args);
    },
  },
  nightly: {
    about: 'run everything in its long form and end with a table (hours; -- <words> runs some parts)',
    run: (args) => runNightly(args),
  },
  'test:sanitize': {
    about: 'run the tests of the addon and its engine under ASan and UBSan, and the engine also under TSan',
    run: async (args) => {
      requireSandbox();
      await setUp({ compiled: false, sanitize: true });
      const { sanitizedEnvironment } = await import('./addon/sanitizer.mjs');
      return sandboxed(
        [vitest, 'run', 'test/netns/addon', 'test/engines/native-engine', ...args],
        sanitizedEnvironment(),
      );
    },
  },
  'test:e2e': {
    about:
      'run the end-to-end tests on a real kube-apiserver; the first run builds it from Go modules (-- traffic life runs two files)',
    run: async (args) => {
      requireSandbox();
      requireTools(['setpriv']);
      const testbed = {
        ...(await ensureTestbed()),
        ...(await ensurePacketFilter()),
        ...(await ensureCrun()),
        ...(await ensureUpstream()),
      };
      await setUp();
      return runEndToEnd(args, testbed);
    },
  },
  'test:node': {
    about:
      'run the image and the chart on two nodes with a real kubelet and containerd (as root; -- --short: the part that CI runs)',
    run: async (args) => {
      requireSandbox();
      const { prepareNodes, runNodes } = await import('./test/nodes.mjs');
      await setUp();
      return runNodes(args, await prepareNodes());
    },
  },
  'test:helm': {
    about:
      'test the Helm chart, its alerts, the manifests and their permissions on a real kube-apiserver (-- <file> runs one)',
    run: async (args) => {
      requireSandbox();
      const testbed = {
        ...(await ensureTestbed()),
        ...(await ensureHelm()),
        ...(await ensurePromtool()),
        ...(await ensureMonitoringDefinitions()),
      };
      await setUp({ addon: false, compiled: false });
      return tests(['--config', 'vitest.helm.config.ts'], args, { env: testbed });
    },
  },
  manifests: {
    about: 'write deploy/manifests and the example permissions from the Helm chart',
    run: async () => {
      const { ISTHMUS_HELM } = await ensureHelm();
      await setUp({ addon: false, compiled: false });
      return run([join(root, 'scripts', 'chart', 'manifests.mjs')], { ISTHMUS_HELM });
    },
  },
  docs: {
    about: 'write the pages of docs/reference from the source',
    run: async () => {
      await setUp({ addon: false, compiled: false });
      return run([join(root, 'scripts', 'reference', 'main.ts')]);
    },
  },
  deb: {
    about: 'build the Debian package into dist-deb/ (-- <directory> selects another directory)',
    run: async ([directory = join(root, 'dist-deb')]) => {
      requireTools(['dpkg-deb']);
      await setUp();
      const { buildDeb, debVersion } = await import('./deb/build-deb.mjs');
      const { file, bytes } = buildDeb({ directory, version: debVersion() });
      console.log(`${file}: ${(bytes / 1e6).toFixed(1)} MB`);
      return 0;
    },
  },
  'test:deb': {
    about: 'install, upgrade, remove and purge the Debian package in a temporary Debian system',
    run: async (args) => {
      requireSandbox();
      requireTools(['dpkg-deb']);
      const { ensureDebianRoot } = await import('./fetch/debian-root.mjs');
      const debian = await ensureDebianRoot();
      await setUp();
      const { withTestPackages } = await import('./deb/test-packages.mjs');
      return withTestPackages((packages) =>
        sandboxed([vitest, 'run', 'test/systemd/deb.test.ts', ...args], { ...debian, ...packages }),
      );
    },
  },
  'test:systemd': {
    about:
      'test the Debian package under systemd as PID 1 of a booted Debian (as root; -- start reload runs two files)',
    run: async (args) => {
      requireSandbox();
      requireTools(['dpkg-deb']);
      const { ownCgroup } = await import('./sandbox/own-cgroup.mjs');
      const { ensureDebianRoot } = await import('./fetch/debian-root.mjs');
      const debian = await ensureDebianRoot();
      // CI chooses files that do not need it.
      const isWanted = args.length === 0 || args.some((word) => word.includes('ansible'));
      const ansible = isWanted ? await (await import('./fetch/ansible.mjs')).ensureAnsible() : {};
      await setUp();
      const { withTestPackages } = await import('./deb/test-packages.mjs');
      const cgroup = ownCgroup('isthmus-systemd');
      try {
        const env = { ...debian, ...ansible, ISTHMUS_TEST_CGROUP: cgroup.name };
        return await withTestPackages((packages) =>
          tests(['--config', 'vitest.systemd.config.ts'], args, { env: { ...env, ...packages } }),
        );
      } finally {
        await cgroup.remove();
      }
    },
  },
  image: {
    about:
      'build the container image from this clone into .cache/image, without a registry (as root; docs/how-to/install/image.md)',
    run: async (args) => {
      await setUp({ addon: false, compiled: false });
      const { image } = await import('./image/build.mjs');
      return image(args);
    },
  },
  'test:image': {
    about:
      'run the image with the privileges of the DaemonSet and test traffic through it (as root; -- <file> runs one)',
    run: async (args) => {
      requireSandbox();
      await setUp();
      const { prepareImage } = await import('./image/test.mjs');
      const prepared = await prepareImage();
      return tests(['--config', 'vitest.image.config.ts'], args, { env: prepared });
    },
  },
  seccomp: {
    about: 'record the system calls of the tests and write deploy/seccomp/isthmus.json (5 minutes)',
    run: async () => {
      requireSandbox();
      await setUp();
      const { record } = await import('./seccomp/record.mjs');
      return record((files, env) => sandboxed([vitest, 'run', '--testTimeout=120000', ...files], env));
    },
  },
  release: {
    about:
      'build all parts of a release into release/, publish nothing (docs/how-to/release.md; -- --no-image --unreleased)',
    run: async (args) => {
      await setUp();
      const { release } = await import('./release/release.mjs');
      return release(args);
    },
  },
  check: {
    about: 'check types, lint, format, import directions, folder sizes, the docs and the chart',
    run: async () => {
      await setUp({ addon: false, compiled: false });
      return inOrder([
        [bin('typescript', 'bin', 'tsc'), '-p', '.'],
        [bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--error-on-warnings', '.'],
        [vitest, 'run', 'test/architecture', 'test/helm/chart.test.ts'],
      ]);
    },
  },
  format: {
    about: 'fix the format and the order of imports as `check` requires',
    run: async () => {
      await setUp({ addon: false, compiled: false });
      return run([bin('@biomejs', 'biome', 'bin', 'biome'), 'check', '--write', '.']);
    },
  },
  start: {
    about: 'start `isthmus run` from this clone (-- --help lists its flags)',
    run: async (args) => {
      await setUp();
      return run([join(root, 'dist', 'main.js'), 'run', ...args]);
    },
  },
  bench: {
    about:
      'measure Isthmus against HAProxy and other proxies in separate namespaces (-- --quick: under 4 minutes; -- --help)',
    run: async (args) => {
      await setUp({ addon: false, compiled: false });
      const bench = join(root, 'bench', 'main.ts');
      if (args.includes('--help') || args.includes('-h')) return run([bench, '--help']);
      if (args[0] === 'parser') return run([join(root, 'bench', 'parser.ts')]);
      if (args[0] === 'control') {
        requireSandbox();
        await setUp();
        return sandboxed([join(root, 'bench', 'control', 'main.ts'), ...args.slice(1)]);
      }
      requireSandbox();
      requireTools(['c++', 'taskset', ...(args[0] === 'profile' ? ['perf'] : [])]);
      await setUp();
      // Compiling and fetching need the network, which the measuring sandbox does not have. So prepare.ts runs outside it.
      const other = ['profile', 'start'].find((each) => each === args[0]);
      const wanted = other === 'start' ? ['--peers', 'isthmus-native'] : other === undefined ? args : [];
      const prepared = await run([join(root, 'bench', 'prepare.ts'), ...wanted]);
      if (prepared !== 0) return prepared;
      const host = readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
      const program =
        other === undefined ? [bench, ...args] : [join(root, 'bench', `${other}.ts`), ...args.slice(1)];
      return sandboxed(program, { BENCH_HOST_CONGESTION_CONTROL: host });
    },
  },
};

leaveWithNpm();
const [name, ...args] = process.argv.slice(2);
const task = Object.hasOwn(tasks, name ?? '') ? tasks[name] : undefined;
if (task === undefined) {
  console.error(name === undefined ? 'The tasks:' : `There is no task '${name}'. The tasks:`);
  for (const [each, { about }] of Object.entries(tasks))
    console.error(`  npm run ${each.padEnd(14)} ${about}`);
  process.exit(name === undefined ? 0 : 2);
}
if (!existsSync(join(root, 'package-lock.json'))) throw new Error(`${root} is not a clone of the repository`);
try {
  process.exitCode = await task.run(args);
} catch (error) {
  if (error instanceof MissingError)
    console.error(`npm run ${name} cannot start on this machine:\n${error.message}`);
  else console.error(`npm run ${name} failed: ${error.message}`);
  process.exitCode = 1;
}
