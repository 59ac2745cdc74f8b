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

/** Above all that fetch() refuses to call, of which 10080 is the last: an instance whose admin port it was never seemed to be ready. */
let lastPort = 20_000;
/** The sandbox's loopback is ours alone: ports are simply counted. */
export function nextPort(): number {
  lastPort += 1;
  return lastPort;
}

/** What is still missing before a peer can be measured; null: nothing. */
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

/** A thousand clusters are a thousand backends to check before all are served, on a core that may have to be shared. */
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
    // One that was killed has a signal in place of a code.
    const end = child.exitCode ?? child.signalCode;
    if (end !== null || child.pid === undefined)
      throw new PeerError(`${name} ended with ${end}: ${said.trim()}`);
    if (Date.now() > deadline) {
      await stopProcess(child);
      throw new PeerError(`${name} was not ready after ${seconds} s: ${lacks}; ${said.trim()}`);
    }
    // To ask for the state of a thousand clusters costs the core on which they are being checked.
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
          // ended by itself
        }
      }
      await stopProcess(child);
    },
  };
}
