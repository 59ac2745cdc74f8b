// What opening a listener fails with from the moment that its engine is being closed: all that there was has been told to end, and
// whoever came now would be left out.
import { closeSync } from 'node:fs';
import type { ListenerSpec } from './engine.ts';

export class EngineClosedError extends Error {
  override readonly name = 'EngineClosedError';
  readonly code = 'ERR_ENGINE_STOPPED';

  constructor() {
    super('the engine is closed');
  }
}

/** To be thrown in the place of a listener. A descriptor that came along was the engine's already, and is closed. */
export function refused({ fd }: ListenerSpec): EngineClosedError {
  if (fd !== undefined) closeSync(fd);
  return new EngineClosedError();
}
