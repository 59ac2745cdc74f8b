// Responses that are neither an object nor a list of objects.
import type { ServerResponse } from 'node:http';
import { ApiError, noSuchResource, type Status } from '../api-error.ts';
import type { Entry } from '../store/object-store.ts';
import type { Target } from '../store/object-writes.ts';

const NO_SUCH_PAGE = '404 page not found';

export const deletedStatus = ({ type }: Target, entry: Entry): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details: {
    name: entry.name,
    ...(type.group === '' ? {} : { group: type.group }),
    kind: type.plural,
    uid: entry.object.metadata.uid ?? '',
  },
});

/** The real API server answers an unknown path in plain text, and an unknown resource of a known group with a Status. */
export function unknownPath(isKnownGroup = false): ApiError {
  return isKnownGroup ? noSuchResource() : new ApiError(404, 'NotFound', NO_SUCH_PAGE);
}

export function sendJson(response: ServerResponse, code: number, json: string): void {
  response.writeHead(code, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  response.end(`${json}\n`);
}

export function sendStatus(response: ServerResponse, status: Status): void {
  if (status.message === NO_SUCH_PAGE) {
    response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${NO_SUCH_PAGE}\n`);
    return;
  }
  sendJson(response, status.code ?? 200, JSON.stringify(status));
}
