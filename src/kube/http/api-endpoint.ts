// Where the API server is, how it is recognised, and who we are there: what one connection and one request need. Holds secrets.
import type { Agent } from 'node:http';
import { createSecureContext, type SecureContext } from 'node:tls';
import { KubeconfigError } from '../credentials/kubeconfig-error.ts';

/** Who and where, for one connection. The same object as long as nothing about it changed. */
export interface ApiEndpoint {
  readonly server: string;
  /** null: plain HTTP, as the kubeconfig says. */
  readonly tls: EndpointTls | null;
  readonly compression: boolean;
  /** The agent of client-node, where a proxy is in the way. */
  readonly agent: Agent | null;
}

export interface EndpointTls {
  readonly secureContext: SecureContext;
  readonly serverName: string | null;
  readonly rejectUnauthorized: boolean;
}

export interface ApiIdentity {
  readonly endpoint: ApiEndpoint;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What must never be shown, should somebody send it back. */
  readonly secrets: readonly string[];
}

export interface TlsFacts {
  readonly ca: Buffer | null;
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
  readonly serverName: string | null;
  readonly skipVerify: boolean;
}

export function endpointTls({ ca, cert, key, serverName, skipVerify }: TlsFacts): EndpointTls {
  try {
    const secureContext = createSecureContext({
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert }),
      ...(key === null ? {} : { key }),
    });
    return { secureContext, serverName, rejectUnauthorized: !skipVerify };
  } catch (error) {
    // OpenSSL's code (ERR_OSSL_X509_KEY_VALUES_MISMATCH): also what half of a rotation looks like.
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new KubeconfigError(
      'malformed',
      `certificate authority, client certificate or key do not fit: ${code}`,
    );
  }
}

export function isSameTls(a: TlsFacts, b: TlsFacts): boolean {
  return (
    a.serverName === b.serverName &&
    a.skipVerify === b.skipVerify &&
    sameBytes(a.ca, b.ca) &&
    sameBytes(a.cert, b.cert) &&
    sameBytes(a.key, b.key)
  );
}

const sameBytes = (a: Buffer | null, b: Buffer | null): boolean =>
  a === b || (a !== null && b !== null && a.equals(b));
