// Sample records of ended connections, for tests of the code that counts or logs them.
import type { ConnectionRecord } from '../../src/proxy/connection-record.ts';

export const servedRecord = (parts: Partial<ConnectionRecord> = {}): ConnectionRecord => ({
  level: 'info',
  listener: 'tls',
  client: '192.0.2.1:40000',
  via: null,
  serverName: 'kube.magnum-system',
  cluster: 'kube',
  namespace: 'magnum-system',
  pool: null,
  netns: '/run/netns/a',
  backend: '10.0.0.5:6443',
  bytesFromClient: 10,
  bytesFromBackend: 200,
  durationMs: 1500,
  outcome: 'finished',
  reason: 'finished',
  failedDials: [],
  ...parts,
});
