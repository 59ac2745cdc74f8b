// Changes the server in one kubeconfig Secret: reads it, checks it, and writes it back with the resourceVersion of the read. So a
// client certificate that was rotated in between is never overwritten. Only the server is kept in memory.

import type { Requester } from '../../kube/kube-client.ts';
import { objectIn } from '../../kube/object-answer.ts';
import {
  KUBECONFIG_MARK,
  type KubeconfigFinding,
  type KubeconfigSecret,
  observedSecret,
} from '../objects/observed-objects.ts';
import { kubeconfigServer, withKubeconfigServer } from './kubeconfig-edit.ts';

export interface KubeconfigWrite {
  readonly finding: KubeconfigFinding;
  readonly secret: KubeconfigSecret;
  /** The resourceVersion of the read. */
  readonly replaced: string;
  readonly changed: boolean;
}

interface SecretObject {
  readonly metadata: { readonly resourceVersion?: string; readonly annotations?: Record<string, string> };
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The type of Secrets that Cluster API creates. A Secret that a user provides has another type and is not changed. */
const CLUSTER_API_TYPE = 'cluster.x-k8s.io/secret';
const KEY = 'value';
const REQUEST_MS = 10_000;

export async function writeKubeconfigServer(
  client: Requester,
  path: string,
  server: string,
  mark: boolean,
  signal?: AbortSignal,
): Promise<KubeconfigWrite> {
  const request = { path, timeoutMs: REQUEST_MS, ...(signal === undefined ? {} : { signal }) };
  const secret = objectIn(await client.request<SecretObject>({ method: 'GET', ...request }), 'get', path);
  const version = secret.metadata.resourceVersion ?? '';
  const unchanged = (finding: Omit<KubeconfigFinding, 'resourceVersion'>): KubeconfigWrite => ({
    finding: { resourceVersion: version, ...finding },
    secret: observedSecret(secret),
    replaced: version,
    changed: false,
  });
  const leftAlone = (reason: string) => unchanged({ server: null, leftAlone: reason });

  if (secret.type !== CLUSTER_API_TYPE)
    return leftAlone(
      `its type is ${JSON.stringify(secret.type ?? '')}, not ${CLUSTER_API_TYPE}: it is the user's own`,
    );
  if (secret.immutable === true) return leftAlone('it is immutable');
  const encoded = secret.data?.[KEY];
  if (typeof encoded !== 'string') return leftAlone(`it has no key ${KEY}`);
  const text = decoded(encoded);
  if (text === null) return leftAlone(`its key ${KEY} holds no UTF-8 text`);
  const found = kubeconfigServer(text);
  if (found.kind === 'unusable') return leftAlone(found.reason);
  const written = secret.metadata.annotations?.[KUBECONFIG_MARK] ?? null;
  // Restores only a server that we wrote. If another writer changed it since, only the mark is removed.
  const wanted = mark || found.server === written ? server : found.server;
  const edited = withKubeconfigServer(text, wanted);
  if (edited.kind === 'unusable') return leftAlone(edited.reason);
  const marked = written === (mark ? server : null);
  if (edited.kind === 'unchanged' && marked) return unchanged({ server: wanted, leftAlone: null });

  const answer = await client.request<SecretObject>({
    method: 'PATCH',
    patch: 'merge',
    ...request,
    body: {
      metadata: { resourceVersion: version, annotations: { [KUBECONFIG_MARK]: mark ? server : null } },
      ...(edited.kind === 'changed'
        ? { data: { [KEY]: Buffer.from(edited.text, 'utf8').toString('base64') } }
        : {}),
    },
  });
  const after = objectIn(answer, 'patch', path);
  const resourceVersion = after.metadata.resourceVersion ?? '';
  return {
    finding: { resourceVersion, server: wanted, leftAlone: null },
    secret: observedSecret(after),
    replaced: version,
    changed: edited.kind === 'changed',
  };
}

function decoded(base64: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return null;
  }
}
