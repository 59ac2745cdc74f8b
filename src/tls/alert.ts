// The fatal alerts that reject a connection before any TLS handshake. The records are shared, so callers must not modify them.

export type AlertName =
  | 'handshake_failure'
  | 'access_denied'
  | 'decode_error'
  | 'internal_error'
  | 'unrecognized_name';

const ALERT = 21;
const FATAL = 2;

/**
 * Record version 3.1, as Go's servers (and so the Kubernetes API server) send it before a version is negotiated. It is
 * the version of TLS 1.0, the lowest of TLS. Tested with 3.0, 3.1 and 3.3 on OpenSSL 3.0 (TLS 1.0 to 1.3), Go 1.26, Node 24, Python
 * 3.11, Java 17, curl 7.88, GnuTLS 3.7 and Chromium 156: all of them report the alert for each version.
 */
function fatal(description: number): Uint8Array {
  return Uint8Array.of(ALERT, 3, 1, 0, 2, FATAL, description);
}

/** RFC 8446 6 and, for unrecognized_name, RFC 6066 3. */
const RECORDS: Readonly<Record<AlertName, Uint8Array>> = {
  handshake_failure: fatal(40),
  access_denied: fatal(49),
  decode_error: fatal(50),
  internal_error: fatal(80),
  unrecognized_name: fatal(112),
};

/** The alert as one complete TLS record of 7 bytes. */
export function alertRecord(name: AlertName): Uint8Array {
  return RECORDS[name];
}
