// No proxy: the client and the backend share one core. This is the physical limit of the generator, not a competitor.
import { LOCAL_BACKEND_PORT } from '../harness/site.ts';
import type { PeerProgram } from './peer.ts';

export const direct: PeerProgram = {
  name: 'direct',
  entersNetns: false,
  version: () => '-',
  start: async () => ({
    name: 'direct',
    target: `127.0.0.1:${LOCAL_BACKEND_PORT}`,
    pids: () => [],
    stop: async () => {},
  }),
};
