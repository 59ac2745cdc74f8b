// Runs the behaviour suite on the in-memory management API. management-api.test.ts covers behaviour that a real API server cannot
// show (faults, restarts).
import { startManagementApi } from '../fake-kube-api/management-api.ts';
import { selfSigned } from '../support/certificates.ts';
import { apiBehaviour } from './behaviour.ts';
import { definitionsToTry } from './definitions.ts';
import { RawClient } from './raw-client.ts';

apiBehaviour(async () => {
  const { cert, key } = selfSigned('127.0.0.1', 'localhost');
  const tokens = new Map([['admin-token', 'admin']]);
  const api = await startManagementApi({ tls: { key, cert, ca: cert }, tokens, garbageCollection: true });
  const client = (token: string) => new RawClient({ url: api.url, ca: cert, token });
  const clients: RawClient[] = [];
  return {
    client: client('admin-token'),
    async restricted(rules) {
      const user = `restricted-${clients.length}`;
      api.tokens.set(`token-of-${user}`, user);
      api.access.set(user, rules);
      const made = client(`token-of-${user}`);
      clients.push(made);
      return made;
    },
    async restart() {
      await api.stop();
      await api.start();
    },
    async stop() {
      for (const each of clients) each.close();
      await api.close();
    },
  };
}, definitionsToTry());
