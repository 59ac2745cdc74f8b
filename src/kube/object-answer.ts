// Checks that the answer to a read or a write is a Kubernetes object. An API server always sends one. A proxy in between can send
// something else with status 200. That is a failed call, not a bug, and must not crash the process.
import { KubeError } from './kube-error.ts';
import { isRecord } from './kube-object.ts';

export function objectIn<T extends object>(answer: T, verb: string, path: string): T & { metadata: object } {
  if (isRecord(answer) && isRecord((answer as { readonly metadata?: unknown }).metadata))
    return answer as T & { metadata: object };
  throw new KubeError({ code: 'bad-answer', verb, path, status: 200, detail: 'the answer is not an object' });
}
