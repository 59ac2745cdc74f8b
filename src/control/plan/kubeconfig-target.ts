// Chooses what a proxied kubeconfig says: the server is the Service, and `tls-server-name` is a name that leads to the cluster and that its
// certificate contains. The names come from the slices of the live instances. Pure.
import { unverifiableText } from '../desired/cluster-certificate.ts';
import { type Publication, proxiedTarget } from '../desired/publication.ts';
import { type CertificateRecord, joinedRecord, verifies } from '../objects/certificate-record.ts';
import type { KubeconfigSecret, KubeconfigTarget } from '../objects/observed-objects.ts';
import { clusterServerNames, ownServerNames } from '../objects/service-names.ts';
import type { OwnedSlice } from '../objects/slice-index.ts';

export type ChosenTarget =
  | { readonly kind: 'verified' | 'unknown' | 'unread'; readonly target: KubeconfigTarget }
  /** Clients would reject the certificate under every name that leads here. */
  | { readonly kind: 'unverifiable'; readonly target: KubeconfigTarget; readonly reason: string };

interface TargetQuestion {
  readonly publication: Publication;
  /** The slices of the live instances that are ready. */
  readonly slices: readonly OwnedSlice[];
  /** This instance. */
  readonly instance: string;
  /** The namespace of the Services. */
  readonly namespace: string;
  readonly secret: KubeconfigSecret;
}

/** `unread`: the names may become known within seconds. `unknown`: they may not, and the target is the most probable one. */
export function chosenTarget(question: TargetQuestion): ChosenTarget {
  const { publication, namespace, secret } = question;
  const probable = proxiedTarget(publication, namespace);
  const record = joinedRecord(recordsOf(question));
  if (record === null) {
    // What was written before is better than a guess, also without a name: a certificate may contain the host.
    const isKept = secret.recordedServer === probable.server;
    const target = isKept ? { ...probable, tlsServerName: secret.recordedTlsName } : probable;
    return { kind: publication.certificate === 'unread' ? 'unread' : 'unknown', target };
  }
  const { cluster, namespace: own } = publication;
  const host = new URL(probable.server).hostname;
  if (verifies(record, host)) return { kind: 'verified', target: { ...probable, tlsServerName: null } };
  const names = [...ownServerNames(cluster, namespace, own), ...clusterServerNames(cluster, namespace, own)];
  const tlsServerName = names.find((name) => verifies(record, name));
  if (tlsServerName !== undefined) return { kind: 'verified', target: { ...probable, tlsServerName } };
  const reason = unverifiableText(clusterServerNames(cluster, namespace, own), record);
  return { kind: 'unverifiable', target: probable, reason };
}

/** The own reading may not be in the slice yet. */
function recordsOf({ publication, slices, instance }: TargetQuestion): CertificateRecord[] {
  const { certificate } = publication;
  const own = typeof certificate === 'object' ? certificate : null;
  return slices.flatMap((slice) => (slice.instance === instance ? own : null) ?? slice.certificate ?? []);
}
