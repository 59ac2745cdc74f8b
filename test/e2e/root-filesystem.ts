// The smallest root filesystem that runs the program, for runs without a built image: Node, the libraries of Node and the addon, and the
// mount points of a container. It is not the shipped image, but it starts in the same way.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ADDON = fileURLToPath(new URL('../../build/Release/linux_netns.node', import.meta.url));
const PLACES = ['proc', 'dev', 'run/netns', 'var/run/secrets/kubernetes.io/serviceaccount', 'opt/isthmus'];

/** `ldd` names a library as `libm.so.6 => /lib/…/libm.so.6 (0x…)`, and the loader without an arrow. */
function librariesOf(program: string): string[] {
  const lines = execFileSync('ldd', [program], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

/** The program is expected at /opt/isthmus, Node is /usr/bin/node. */
export function makeRootFilesystem(directory: string): string {
  for (const each of PLACES) mkdirSync(join(directory, each), { recursive: true });
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(directory, to)), { recursive: true });
    copyFileSync(realpathSync(from), join(directory, to));
  };
  put(process.execPath, '/usr/bin/node');
  for (const each of new Set([process.execPath, ADDON].flatMap(librariesOf))) put(each, each);
  return directory;
}
