// Changes the server and the `tls-server-name` in one kubeconfig Secret: reads it, checks it, and writes it back with the resourceVersion
// of the read. So a client certificate that was rotated in between is never overwritten. Only these two fields are kept in memory.

import type { Requester } from '../../kube/kube-client.ts';
import { objectIn } from '../../kube/object-answer.ts';
import {
  KUBECONFIG_SERVER_ANNOTATION,
  KUBECONFIG_TLS_NAME_ANNOTATION,
  type KubeconfigFinding,
  type KubeconfigSecret,
  type KubeconfigTarget,
  observedSecret,
} from '../objects/observed-objects.ts';
import { shownValue } from '../objects/shown-value.ts';
import { type KubeconfigEntry, kubeconfigEntry, withKubeconfigEntry } from './kubeconfig-edit.ts';

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

interface TargetChange extends KubeconfigTarget {
  /** API path of the Secret. */
  readonly path: string;
  /** true writes our annotations; false restores the server, and removes them. */
  readonly annotate: boolean;
  readonly signal: AbortSignal;
}

export async function writeKubeconfig(
  client: Requester,
  { path, server, tlsServerName, annotate, signal }: TargetChange,
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
  const skipped = (skipReason: string) => unchanged({ server: null, tlsServerName: null, skipReason });

  const read = contentOf(secret);
  if ('reason' in read) return skipped(read.reason);
  const { text } = read;
  const found = kubeconfigEntry(text);
  if (found.kind === 'unusable') return skipped(found.reason);
  const { recordedServer, recordedTlsName } = observedSecret(secret);
  const target = { server, tlsServerName };
  const foreign = annotate ? foreignField(found, recordedTlsName, target) : null;
  if (foreign !== null) {
    const { server, tlsServerName } = found;
    return unchanged({ server, tlsServerName, skipReason: foreign });
  }
  // Restores only what Isthmus wrote. If another writer has changed it since, only the annotations are removed.
  const wanted = annotate ? target : restoredTarget(found, { recordedServer, recordedTlsName }, server);
  const edited = withKubeconfigEntry(text, wanted);
  if (edited.kind === 'unusable') return skipped(edited.reason);
  const marks = annotate ? target : NO_MARKS;
  const isMarked = recordedServer === marks.server && recordedTlsName === marks.tlsServerName;
  if (edited.kind === 'unchanged' && isMarked) return unchanged({ ...wanted, skipReason: null });

  const answer = await client.request<SecretObject>({
    method: 'PATCH',
    patch: 'merge',
    ...request,
    body: {
      metadata: {
        resourceVersion: version,
        annotations: {
          [KUBECONFIG_SERVER_ANNOTATION]: marks.server,
          ...((recordedTlsName !== null || marks.tlsServerName !== null) && {
            [KUBECONFIG_TLS_NAME_ANNOTATION]: marks.tlsServerName,
          }),
        },
      },
      ...(edited.kind === 'changed'
        ? { data: { [KEY]: Buffer.from(edited.text, 'utf8').toString('base64') } }
        : {}),
    },
  });
  const after = objectIn(answer, 'patch', path);
  const resourceVersion = after.metadata.resourceVersion ?? '';
  return {
    finding: { resourceVersion, ...wanted, skipReason: null },
    secret: observedSecret(after),
    replaced: version,
    changed: edited.kind === 'changed',
  };
}

const NO_MARKS = { server: null, tlsServerName: null } as const;

/** The text of the kubeconfig, or why this Secret is not changed. */
function contentOf(secret: SecretObject): { readonly text: string } | { readonly reason: string } {
  if (secret.type !== CLUSTER_API_TYPE) {
    const type = JSON.stringify(secret.type ?? '');
    return { reason: `its type is ${type}, not ${CLUSTER_API_TYPE}: a user created it` };
  }
  if (secret.immutable === true) return { reason: 'it is immutable' };
  const encoded = secret.data?.[KEY];
  if (typeof encoded !== 'string') return { reason: `it has no key ${KEY}` };
  const text = decoded(encoded);
  return text === null ? { reason: `its key ${KEY} is not UTF-8 text` } : { text };
}

type FoundEntry = Extract<KubeconfigEntry, { readonly kind: 'found' }>;
type Marks = Pick<KubeconfigSecret, 'recordedServer' | 'recordedTlsName'>;

/**
 * A field of another writer with which clients would not reach the proxy at this server, or would reach it under another name. null: none.
 */
function foreignField(
  found: FoundEntry,
  recordedTlsName: string | null,
  target: KubeconfigTarget,
): string | null {
  if (found.hasProxyUrl) return 'it has a proxy-url, which Isthmus did not write';
  const { tlsServerName } = found;
  if (tlsServerName === null || tlsServerName === recordedTlsName) return null;
  // A restored backup of the Secret may lack the annotations.
  if (found.server === target.server && tlsServerName === target.tlsServerName) return null;
  return `it has tls-server-name ${shownValue(tlsServerName)}, which Isthmus did not write`;
}

function restoredTarget(
  found: FoundEntry,
  { recordedServer, recordedTlsName }: Marks,
  server: string,
): KubeconfigTarget {
  return {
    server: found.server === recordedServer ? server : found.server,
    tlsServerName: found.tlsServerName === recordedTlsName ? null : found.tlsServerName,
  };
}

function decoded(base64: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return null;
  }
}
