// Reads the requests of a user from the API server's audit log.
import { readFileSync } from 'node:fs';

export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  readonly path: string;
  readonly at: number;
  readonly code: number;
}

/** The user of the ServiceAccount that deploy/ ships. */
export const ISTHMUS_USER = 'system:serviceaccount:magnum-system:isthmus';

const READS = new Set(['get', 'list', 'watch']);
export const isWrite = ({ verb }: AuditedRequest): boolean => !READS.has(verb);

interface AuditLine {
  readonly user?: { readonly username?: string };
  readonly verb: string;
  readonly stage: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly requestURI: string;
  readonly responseStatus?: { readonly code?: number };
}

/** Completed requests in log order; a watch counts once, at its start. */
export function auditedRequests(file: string): AuditedRequest[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1); // the last line may be incomplete
  return lines
    .map((line) => JSON.parse(line) as AuditLine)
    .filter(({ verb, stage }) => stage === (verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete'))
    .map((line) => ({
      user: line.user?.username ?? '',
      verb: line.verb,
      resource: line.objectRef?.resource ?? line.requestURI,
      name: line.objectRef?.name ?? '',
      path: line.requestURI,
      at: Date.parse(line.requestReceivedTimestamp),
      code: line.responseStatus?.code ?? 0,
    }));
}
