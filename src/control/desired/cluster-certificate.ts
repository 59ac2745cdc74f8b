// The certificate of a cluster's API server, as this instance read it through the backends that clients use now. If they differ, only what
// all of them contain counts. Pure.
import type { CertificateExpiry, CertificateReading } from '../../health/server-certificate.ts';
import {
  boundedRecord,
  type CertificateRecord,
  joinedRecord,
  recordNames,
  verifies,
} from '../objects/certificate-record.ts';
import { type ClusterCandidate, isUp } from './cluster-candidates.ts';
import type { PublishedCertificate } from './publication.ts';

export interface CertificateStatus extends CertificateRecord {
  readonly expiry: CertificateExpiry;
  /** It contains one of the server names of the cluster. */
  readonly verifies: boolean;
  /** What an operator should know about it. */
  readonly problems: readonly string[];
}

export interface ClusterCertificate {
  /** null while no certificate is known. */
  readonly status: CertificateStatus | null;
  readonly published: PublishedCertificate;
}

export function clusterCertificate(
  candidates: readonly ClusterCandidate[],
  serverNames: readonly string[],
  certificates: ReadonlyMap<string, CertificateReading>,
): ClusterCertificate {
  const readings = inUse(candidates).map(({ backend }) => certificates.get(backend.key));
  const records: CertificateRecord[] = [];
  const expiries = new Set<CertificateExpiry>();
  for (const reading of readings) {
    if (reading == null || reading.certificate === null) continue;
    const { names, omitted, notAfterMs } = reading.certificate;
    records.push({ names, omitted, notAfter: new Date(notAfterMs).toISOString() });
    expiries.add(reading.expiry);
  }
  const joined = joinedRecord(records);
  if (joined === null)
    return { status: null, published: readings.includes(undefined) ? 'unread' : 'unknown' };
  const record = boundedRecord(joined, serverNames);
  const isVerified = serverNames.some((name) => verifies(record, name));
  const expiry = EXPIRIES.find((each) => expiries.has(each)) ?? 'valid';
  const problems = Object.freeze([
    ...(isVerified ? [] : [unverifiableText(serverNames, record)]),
    ...(expiry === 'valid' ? [] : [expiryText({ expiry, notAfter: record.notAfter })]),
  ]);
  const status = Object.freeze({ ...record, expiry, verifies: isVerified, problems });
  return { status, published: record };
}

/** A spare Machine does not count: one with a wrong address would leave no common name, although clients reach the right server. */
function inUse(candidates: readonly ClusterCandidate[]): readonly ClusterCandidate[] {
  const up = candidates.filter(isUp);
  const own = up.filter(({ machine }) => machine === null);
  return own.length > 0 ? own : up;
}

export const unverifiableText = (serverNames: readonly string[], record: CertificateRecord): string =>
  `the certificate of the API server has none of the names that lead to it (${serverNames.join(', ')}): ${recordNames(record)}`;

export const expiryText = ({ expiry, notAfter }: Pick<CertificateStatus, 'expiry' | 'notAfter'>): string =>
  `the certificate of the API server ${expiry === 'expired' ? 'ended' : 'ends'} at ${notAfter}: renew it`;

/** The worst first. */
const EXPIRIES: readonly CertificateExpiry[] = ['expired', 'soon', 'valid'];

export const isSameReading = (
  candidates: readonly ClusterCandidate[],
  before: ReadonlyMap<string, CertificateReading>,
  now: ReadonlyMap<string, CertificateReading>,
): boolean =>
  before === now || candidates.every(({ backend }) => before.get(backend.key) === now.get(backend.key));
