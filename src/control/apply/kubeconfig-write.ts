// Changes the server in one kubeconfig Secret: reads it, checks it, and writes it back with the resourceVersion of the read. So a
// client certificate that was rotated in between is never overwritten. Only the server is kept in memory.

import type { Requester } from '../../kube/kube-client.ts';
import { objectIn } from '../../kube/object-answer.ts';
import {
  KUBECONFIG_SERVER_ANNOTATION,
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

interface ServerChange {
  /** API path of the Secret. */
  readonly path: string;
  readonly server: string;
  readonly annotate: boolean;
  readonly signal: AbortSignal;
}

export async function writeKubeconfigServer(
  client: Requester,
  { path, server, annotate, signal }: ServerChange,
): Promise<KubeconfigWrite> {
  const request = { path, timeoutMs: REQUEST_MS, signal };
  const secret = objectIn(await client.request<SecretObject>({ method: 'GET', ...request }), 'get', path);
  const version = secret.metadata.resourceVersion ?? '';
  const unchanged = (finding: Omit<KubeconfigFinding, 'resourceVersion'>): KubeconfigWrite => ({
    finding: { resourceVersion: version, ...finding },
    secret: observedSecret(secret),
    replaced: version,
    changed: false,
  });
  const skipped = (reason: string) => unchanged({ server: null, skipReason: reason });

  if (secret.type !== CLUSTER_API_TYPE)
    return skipped(
      `its type is ${JSON.stringify(secret.type ?? '')}, not ${CLUSTER_API_TYPE}: a user created it`,
    );
  if (secret.immutable === true) return skipped('it is immutable');
  const encoded = secret.data?.[KEY];
  if (typeof encoded !== 'string') return skipped(`it has no key ${KEY}`);
  const text = decoded(encoded);
  if (text === null) return skipped(`its key ${KEY} is not UTF-8 text`);
  const found = kubeconfigServer(text);
  if (found.kind === 'unusable') return skipped(found.reason);
  const written = secret.metadata.annotations?.[KUBECONFIG_SERVER_ANNOTATION] ?? null;
  // Restores only a server that Isthmus wrote. If another writer has changed it since, only the annotation is removed.
  const wanted = annotate || found.server === written ? server : found.server;
  const edited = withKubeconfigServer(text, wanted);
  if (edited.kind === 'unusable') return skipped(edited.reason);
  const marked = written === (annotate ? server : null);
  if (edited.kind === 'unchanged' && marked) return unchanged({ server: wanted, skipReason: null });

  const answer = await client.request<SecretObject>({
    method: 'PATCH',
    patch: 'merge',
    ...request,
    body: {
      metadata: {
        resourceVersion: version,
        annotations: { [KUBECONFIG_SERVER_ANNOTATION]: annotate ? server : null },
      },
      ...(edited.kind === 'changed'
        ? { data: { [KEY]: Buffer.from(edited.text, 'utf8').toString('base64') } }
        : {}),
    },
  });
  const after = objectIn(answer, 'patch', path);
  const resourceVersion = after.metadata.resourceVersion ?? '';
  return {
    finding: { resourceVersion, server: wanted, skipReason: null },
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
