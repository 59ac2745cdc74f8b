// Reads from the metrics how many connections have ended, by outcome.
import type { Isthmus } from '../../support/isthmus.ts';

export async function endedConnections(isthmus: Isthmus): Promise<Record<string, number>> {
  const { body } = await isthmus.get('/metrics');
  const ended: Record<string, number> = {};
  for (const [, outcome, count] of body.matchAll(
    /^isthmus_connections_ended_total\{outcome="([^"]+)".*\} (\d+)$/gm,
  )) {
    ended[outcome as string] = (ended[outcome as string] ?? 0) + Number(count);
  }
  return ended;
}
