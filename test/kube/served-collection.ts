// The fake collection behind real HTTPS, with lists and watches as an API server sends them.
import type { ServerResponse } from 'node:http';
import type { KubeError } from '../../src/kube/kube-error.ts';
import type { FakeCollection } from './fake-collection.ts';
import { type Asked, type Handler, json, refuse } from './scripted-api.ts';

const STATUS: Readonly<Record<string, number>> = {
  gone: 410,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
};

export function servedCollection(collection: FakeCollection, open: Set<ServerResponse> = new Set()): Handler {
  return (asked, response) => {
    void (asked.isWatch ? watch(collection, asked, response, open) : list(collection, asked, response));
  };
}

async function list(collection: FakeCollection, { query }: Asked, response: ServerResponse): Promise<void> {
  try {
    json(response, await collection.request({ method: 'GET', path: '/', query: Object.fromEntries(query) }));
  } catch (error) {
    refuse(response, STATUS[(error as KubeError).code] ?? 500, 'AsTold');
  }
}

async function watch(
  collection: FakeCollection,
  { query }: Asked,
  response: ServerResponse,
  open: Set<ServerResponse>,
): Promise<void> {
  const gone = new AbortController();
  open.add(response);
  response.on('close', () => {
    open.delete(response);
    gone.abort();
  });
  const events = collection.watch({
    path: '/',
    query: Object.fromEntries(query),
    idleTimeoutMs: 0,
    signal: gone.signal,
    onOpen: () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
    },
  });
  try {
    for await (const event of events) response.write(`${JSON.stringify(event)}\n`);
    response.end();
  } catch (error) {
    if (gone.signal.aborted) return;
    const code = STATUS[(error as KubeError).code] ?? 500;
    if (!response.headersSent) return refuse(response, code, 'AsTold');
    response.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code } })}\n`);
  }
}
