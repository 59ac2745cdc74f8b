// Gives back what only the start of a thread needed (sources, parsed modules, half of the young generation, and what malloc keeps of
// it): 12 MB of what both threads keep resident. V8 would do so too, but at the next full collection, and a proxy that makes little
// garbage has none for hours.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Takes 10 to 30 ms, once: connections are served meanwhile, by the engine's own threads. */
export function dropStartGarbage(addon: { releaseFreeMemory(): void }): void {
  // The collector is a global of contexts that are made while the flag is set, and of no other. The flag is the whole process's and
  // stays: to take it back here would take it from the other thread, which does the same at the same time.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  addon.releaseFreeMemory();
}
