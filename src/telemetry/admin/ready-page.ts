// The answer of /readyz. A process is ready from the time it has passed its checks until a shutdown or a handover begins. Pure.
import type { ReadyCheck } from '../../control/objects/ready-check.ts';
import type { AdminPage } from './admin-server.ts';

/** If one of these fails, /readyz shows only its failure, which is a full sentence. */
export const SHUTDOWN = 'shutdown';
export const HANDOVER = 'handover';

/** null: ready. */
export function notReadyBecause(checks: readonly ReadyCheck[]): string | null {
  const failed = checks.filter(({ failure }) => failure !== null);
  const decisive = [SHUTDOWN, HANDOVER].flatMap((name) => failed.filter((check) => check.name === name));
  const [first] = decisive;
  if (first !== undefined) return first.failure;
  return failed.length === 0 ? null : failed.map(({ name, failure }) => `${name}: ${failure}`).join('; ');
}

/** With `verbose` it lists every check, as the components of Kubernetes do. */
export function readyPage(checks: readonly ReadyCheck[], verbose: boolean): AdminPage {
  const because = notReadyBecause(checks);
  const status = because === null ? 200 : 503;
  const short = because === null ? 'ok\n' : `not ready: ${oneLine(because)}\n`;
  return { status, type: 'text', body: verbose ? verboseText(checks, because === null) : short };
}

function verboseText(checks: readonly ReadyCheck[], isReady: boolean): string {
  const lines = checks.map(({ name, failure }) =>
    failure === null ? `[+]${name} ok` : `[-]${name} failed: ${oneLine(failure)}`,
  );
  return `${[...lines, `readyz check ${isReady ? 'passed' : 'failed'}`].join('\n')}\n`;
}

/** A reason can hold a text from the Kubernetes API. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
