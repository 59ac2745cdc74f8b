// Frees the memory that only the start of a thread needs: sources, parsed modules, half of the young generation, malloc's free
// lists. That is 12 MB of resident memory for both threads. V8 frees it at the next full collection, but a proxy that makes little
// garbage has none for hours.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Takes 10 to 30 ms, once. The engine's threads serve connections during this time. */
export function trimStartupHeap(addon: { releaseFreeMemory(): void }): void {
  // Only contexts created while the flag is set have the global `gc`. The flag applies to the whole process and stays set.
  // The other thread runs this code at the same time, so clearing the flag here could leave that thread without `gc`.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as Collect;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  addon.releaseFreeMemory();
}
