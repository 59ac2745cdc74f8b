// Asks the API server whether our credentials have a right. The review creates no object: it is only an answer.
import type { Requester } from './kube-client.ts';

export interface AskedRight {
  readonly group: string;
  /** With its subresource, such as `additionallisteners/status`. */
  readonly resource: string;
  readonly verb: string;
  /** null: every namespace. */
  readonly namespace: string | null;
}

/** Throws KubeError. `forbidden` means that the server does not answer reviews of this user. */
export async function isAllowed(
  client: Requester,
  { group, resource: both, verb, namespace }: AskedRight,
  limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<boolean> {
  const [resource, subresource] = both.split('/', 2);
  const attributes = { group, resource, ...(subresource !== undefined && { subresource }), verb };
  const answer = await client.request<{ readonly status?: { readonly allowed?: boolean } }>({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    ...limits,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { ...attributes, namespace: namespace ?? '' } },
    },
  });
  return answer.status?.allowed === true;
}
