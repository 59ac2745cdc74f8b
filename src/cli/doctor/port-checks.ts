// Checks that the ports are free by binding each for a moment. A port that a running isthmus uses is fine.
import { createServer } from 'node:net';
import { endpointText } from '../../routing/addresses.ts';
import type { StatusView } from '../../telemetry/status/status.ts';
import { askAdmin } from '../admin-client.ts';
import type { Endpoint } from '../config/values.ts';
import { type Check, type Finding, ok, problem } from './check.ts';

/** The status of the isthmus on this host, from its admin port; null if none answers. */
export type Running = Pick<StatusView, 'instance' | 'version' | 'listen' | 'kubernetes'> | null;

const ASK_MS = 2000;

export async function runningIsthmus(admin: Endpoint): Promise<Running> {
  if (admin.port === 0) return null;
  try {
    const { status, body } = await askAdmin(admin, '/status', ASK_MS);
    const view = JSON.parse(body) as StatusView;
    const isOurs = status === 200 && typeof view?.instance === 'string' && typeof view.version === 'string';
    return isOurs ? view : null;
  } catch {
    return null;
  }
}

export interface PortQuestion {
  /** The flag without the dashes. */
  readonly flag: 'listen' | 'admin' | 'health-listen';
  readonly endpoint: Endpoint;
  readonly running: Promise<Running>;
}

export function portCheck({ flag, endpoint, running }: PortQuestion): Check {
  return {
    name: flag,
    run: async () => {
      if (endpoint.port === 0) return ok('Isthmus takes any free port');
      const shown = endpointText({ address: endpoint.host ?? '*', port: endpoint.port });
      const code = await listenError(endpoint);
      if (code === null) return ok(`${shown} is free`);
      const ours = code === 'EADDRINUSE' && (await isOurs(flag, endpoint, await running));
      return ours
        ? ok(`${shown} is taken by the isthmus that runs here`)
        : refusal(flag, shown, code, endpoint);
    },
  };
}

function refusal(flag: string, shown: string, code: string, { port }: Endpoint): Finding {
  switch (code) {
    case 'EADDRINUSE':
      return problem(
        `${shown} is taken by another program`,
        `Choose another --${flag}, or stop the program that listens there (ss -ltnp 'sport = :${port}' names it).`,
      );
    case 'EACCES':
      return problem(`this user may not listen on ${shown}`, `Choose a port from 1024 on for --${flag}.`);
    case 'EADDRNOTAVAIL':
      return problem(`${shown}: this machine does not have that address`, `Correct --${flag}.`);
    default:
      return problem(`${shown} cannot be listened on (${code})`, `Choose another --${flag}.`);
  }
}

async function isOurs(flag: PortQuestion['flag'], endpoint: Endpoint, running: Running): Promise<boolean> {
  if (running === null) return false;
  if (flag === 'admin') return true;
  if (flag === 'listen') return running.listen?.endsWith(`:${endpoint.port}`) === true;
  // The health port has no /status. The exact text of its /readyz identifies isthmus.
  const answer = await askAdmin(endpoint, '/readyz', ASK_MS).catch(() => null);
  return answer !== null && /^(ok|not ready: .*)\n$/.test(answer.body);
}

/** The error code of an attempt to listen; null if it succeeds. */
function listenError({ host, port }: Endpoint): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ ...(host === undefined ? {} : { host }), port, exclusive: true }, () =>
      server.close(() => resolve(null)),
    );
  });
}
