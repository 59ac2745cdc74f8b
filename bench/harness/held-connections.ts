// Idle connections through a proxy. The generator holds them open until they are released.
import { LoadError } from './load.ts';
import { LOAD_CORE, spawnPinned } from './processes.ts';

export interface HeldConnections {
  /** Closes the connections and returns how many were still open. */
  release(): Promise<number>;
}

export async function holdConnections(
  program: string,
  target: string,
  hello: string,
  connections: number,
): Promise<HeldConnections> {
  const args = ['idle', '--target', target, '--hello', hello, '--connections', String(connections)];
  const child = spawnPinned(LOAD_CORE, program, args);
  let stdout = '';
  let stderr = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
      if (stdout.includes('\n')) resolve();
    });
    void ended.then(() => reject(new LoadError(`idle: ${stderr.trim()}`)));
  });
  return {
    release: async () => {
      child.stdin?.end();
      await ended;
      return Number(/"alive":(\d+)/.exec(stdout)?.[1] ?? 0);
    },
  };
}
