// The API server's address, its TLS settings and our identity: everything for one connection and one request. Contains secrets.
import type { Agent } from 'node:http';
import { createSecureContext, type SecureContext } from 'node:tls';
import { KubeconfigError } from '../credentials/kubeconfig-error.ts';

/** The endpoint of a connection. The same object while nothing changes. */
export interface ApiEndpoint {
  readonly server: string;
  /** null: the kubeconfig specifies plain HTTP. */
  readonly tls: EndpointTls | null;
  readonly compression: boolean;
  /** The agent of client-node, if a proxy is configured. */
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
  /** Removed from error messages, in case a server echoes them. */
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
    // OpenSSL's code, such as ERR_OSSL_X509_KEY_VALUES_MISMATCH. An incomplete rotation also causes this error.
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new KubeconfigError(
      'malformed',
      `certificate authority, client certificate and key cannot be used together: ${code}`,
    );
  }
}
