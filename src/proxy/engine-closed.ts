// The error for opening a listener after the engine began to close. The engine has already stopped all listeners and connections,
// and would never stop a listener that opens now.
import { closeSync } from 'node:fs';
import type { ListenerSpec } from './engine.ts';

export class EngineClosedError extends Error {
  override readonly name = 'EngineClosedError';
  readonly code = 'ERR_ENGINE_STOPPED';

  constructor() {
    super('the engine is closed');
  }
}

/** Returns the error to throw. Closes the descriptor of the spec, if any: the engine already owns it. */
export function refused({ fd }: ListenerSpec): EngineClosedError {
  if (fd !== undefined) closeSync(fd);
  return new EngineClosedError();
}
