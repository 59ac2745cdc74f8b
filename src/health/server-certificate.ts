// The facts of an API server's certificate: its names and its end. The certificate comes from a tenant's machine, so every field is
// untrusted input: names are bounded in number, length and characters. Pure.
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

export interface ServerCertificate {
  /** DNS names in lower case and IP addresses, each once, in the order of the certificate. */
  readonly names: readonly string[];
  /** How many names were left out, because they are unusual or too many. */
  readonly omitted: number;
  readonly notAfterMs: number;
}

export type CertificateExpiry = 'valid' | 'soon' | 'expired';

/** What the last handshakes with one backend found. */
export interface CertificateReading {
  /** null: no handshake has succeeded. */
  readonly certificate: ServerCertificate | null;
  /** At the time of the handshake. Each certificate is read again within a day. */
  readonly expiry: CertificateExpiry;
  /** The error code of the last handshake; null: it succeeded. */
  readonly error: string | null;
}

const MAX_NAMES = 256;
/** The longest DNS name. The record on the slice accepts no longer one, also with a wildcard. */
const MAX_NAME = 253;
/** Names beyond this part of the text are not looked at: a certificate can be 100 KB. */
const MAX_TEXT = 32 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;
const SOON_MS = 30 * DAY_MS;

/** `DNS:a, IP Address:10.0.0.5, URI:…`. Node writes a value with unusual characters as a JSON string. */
const ENTRY = /([^:,"]+):(?:"(?:[^"\\]|\\.)*"|([^,"]*))(?:, |$)/y;
const DNS_NAME = /^(?:\*\.)?[a-z0-9_](?:[-a-z0-9_.]{0,251}[a-z0-9_])?$/;

/** null if the certificate has no valid end. */
export function serverCertificate(
  found: Pick<X509Certificate, 'subjectAltName' | 'validTo'>,
): ServerCertificate | null {
  const notAfterMs = Date.parse(found.validTo);
  if (!Number.isFinite(notAfterMs)) return null;
  const text = found.subjectAltName ?? '';
  const names = new Set<string>();
  let omitted = 0;
  // Cut between two entries: a part of a name would be another name.
  const bounded =
    text.length > MAX_TEXT ? text.slice(0, Math.max(0, text.lastIndexOf(', ', MAX_TEXT))) : text;
  const entry = new RegExp(ENTRY);
  while (entry.lastIndex < bounded.length) {
    const { lastIndex } = entry;
    const [found, kind = '', value] = entry.exec(bounded) ?? [];
    // A value that cannot be split off safely ends the list.
    if (found === undefined) omitted += 1;
    if (found === undefined || entry.lastIndex === lastIndex) break;
    if (kind !== 'DNS' && kind !== 'IP Address') continue;
    const name = value === undefined ? null : nameOf(kind === 'DNS', value);
    if (name !== null && names.size < MAX_NAMES) names.add(name);
    else omitted += 1;
  }
  if (text.length > MAX_TEXT) omitted += 1;
  return Object.freeze({ names: Object.freeze([...names]), omitted, notAfterMs });
}

function nameOf(isDns: boolean, value: string): string | null {
  if (!isDns) return isIP(value) === 6 ? shortIPv6(value) : isIP(value) === 4 ? value : null;
  const name = value.toLowerCase().replace(/\.$/, '');
  return name.length <= MAX_NAME && DNS_NAME.test(name) && isIP(name) === 0 ? name : null;
}

/** `FD00:0:0:0:0:0:0:5` → `fd00::5` */
const shortIPv6 = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

export function expiryOf({ notAfterMs }: ServerCertificate, wallMs: number): CertificateExpiry {
  if (notAfterMs <= wallMs) return 'expired';
  return notAfterMs - wallMs < SOON_MS ? 'soon' : 'valid';
}

const HOUR_MS = 60 * 60 * 1000;

/**
 * How long a certificate is valid before it is read again: a day, and less in the last days. kube-apiserver loads a renewed certificate without
 * a restart, which no health check notices.
 */
export function rereadAfterMs({ notAfterMs }: ServerCertificate, wallMs: number): number {
  return Math.min(DAY_MS, Math.max(HOUR_MS, (notAfterMs - wallMs) / 4));
}
