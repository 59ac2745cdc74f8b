// Starts the process of a peer and waits until it takes connections.
import { connect } from 'node:net';
import { family, PROXY_CORE, pause, spawnPinned, stopProcess } from '../harness/processes.ts';
import type { Site } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import { PeerError, type RunningPeer } from './peer.ts';

export function proxyCores(site: Site): string {
  return site.wish.threads > 1 ? `0,${PROXY_CORE}` : PROXY_CORE;
}

export const environmentOf = ({ libraries }: Program): NodeJS.ProcessEnv =>
  libraries === '' ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries };

let lastPort = 10_000;
/** The sandbox's loopback is ours alone: ports are simply counted. */
export function nextPort(): number {
  lastPort += 1;
  return lastPort;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

export async function startProcess(
  name: string,
  site: Site,
  port: number,
  program: Program,
  args: readonly string[],
  isReady: () => Promise<boolean> = () => answers(port),
): Promise<RunningPeer> {
  const child = spawnPinned(proxyCores(site), program.path, args, environmentOf(program));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      said = (said + chunk).slice(-2000);
    });
  child.on('error', (error) => {
    said += error.message;
  });
  const deadline = Date.now() + 30_000;
  while (!(await isReady())) {
    if (child.exitCode !== null || child.pid === undefined)
      throw new PeerError(`${name} ended with ${child.exitCode}: ${said.trim()}`);
    if (Date.now() > deadline) {
      await stopProcess(child);
      throw new PeerError(`${name} was not ready after 30 s: ${said.trim()}`);
    }
    await pause(50);
  }
  return {
    name,
    target: `127.0.0.1:${port}`,
    pids: () => family(child.pid!),
    stop: async () => {
      for (const pid of family(child.pid!).slice(1)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // ended by itself
        }
      }
      await stopProcess(child);
    },
  };
}
