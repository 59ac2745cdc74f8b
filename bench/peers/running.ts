// Starts the process of a peer and waits until it accepts connections.
import { connect } from 'node:net';
import { family, PROXY_CORE, pause, spawnPinned, stopProcess } from '../harness/processes.ts';
import type { Site } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import { PeerError, type RunningPeer } from './peer.ts';

export function proxyCores(site: Site): string {
  return site.needs.threads > 1 ? `0,${PROXY_CORE}` : PROXY_CORE;
}

export const environmentOf = ({ libraries }: Program): NodeJS.ProcessEnv =>
  libraries === '' ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries };

/** Starts above 10080, the highest port that fetch() blocks. An instance with a blocked admin port would never appear ready. */
let lastPort = 20_000;
/** Counts upwards: no other program uses the sandbox's loopback. */
export function nextPort(): number {
  lastPort += 1;
  return lastPort;
}

/** Returns what a peer still lacks before it can be measured, or null if it is ready. */
export type Missing = () => Promise<string | null>;

function answers(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => {
      socket.destroy();
      resolve(null);
    });
    socket.on('error', ({ message }) => resolve(message));
  });
}

/** With a thousand clusters, a peer first checks a thousand backends, possibly on a shared core. */
export const startSeconds = (clusters: number): number => (clusters >= 1000 ? 90 : 30);

export async function startProcess(
  name: string,
  site: Site,
  port: number,
  program: Program,
  args: readonly string[],
  missing: Missing = () => answers(port),
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
  const seconds = startSeconds(site.clusters.length);
  const deadline = Date.now() + 1000 * seconds;
  for (;;) {
    const lacks = await missing();
    if (lacks === null) break;
    // A killed process has a signal instead of an exit code.
    const end = child.exitCode ?? child.signalCode;
    if (end !== null || child.pid === undefined)
      throw new PeerError(`${name} ended with ${end}: ${said.trim()}`);
    if (Date.now() > deadline) {
      await stopProcess(child);
      throw new PeerError(`${name} was not ready after ${seconds} s: ${lacks}; ${said.trim()}`);
    }
    // A status request for a thousand clusters uses the same core as their health checks, so poll less often.
    await pause(site.clusters.length >= 1000 ? 250 : 50);
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
          // the process has already exited
        }
      }
      await stopProcess(child);
    },
  };
}
