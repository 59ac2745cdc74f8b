// Checks that an answer to a read or a write is an object at all. The API server's always are; what a proxy in between answers in its
// place, with status 200, must not be taken for a bug of ours and end the process.
import { KubeError } from './kube-error.ts';
import { isRecord } from './kube-object.ts';

export function objectIn<T extends object>(answer: T, verb: string, path: string): T & { metadata: object } {
  if (isRecord(answer) && isRecord((answer as { readonly metadata?: unknown }).metadata))
    return answer as T & { metadata: object };
  throw new KubeError({ code: 'bad-answer', verb, path, status: 200, detail: 'the answer is no object' });
}
