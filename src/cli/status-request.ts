// Requests the status of a running proxy and explains a failure. Any program may listen on that port, so the answer is checked.

import { endpointText } from '../routing/endpoint.ts';
import type { StatusView } from '../telemetry/status/status.ts';
import { askAdmin } from './admin-client.ts';
import type { Endpoint } from './config/values.ts';

export async function requestStatus(endpoint: Endpoint): Promise<StatusView> {
  const { body } = await askAdmin(endpoint, '/status');
  try {
    return JSON.parse(body) as StatusView;
  } catch {
    throw new Error('the answer is not a status');
  }
}

/** `no proxy answers at 127.0.0.1:9580 (…)`. */
export function silenceText({ host = '127.0.0.1', port }: Endpoint, error: unknown): string {
  return `no proxy answers at ${endpointText({ address: host, port })} (${(error as Error).message})`;
}

export const SILENCE_HINT = 'is it running? --admin names its port';
