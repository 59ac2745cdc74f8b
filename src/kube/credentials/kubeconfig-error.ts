// A configuration that leads to no API server: missing, unreadable, or not what a kubeconfig says. Never quotes a credential.

export type KubeconfigErrorCode = 'missing' | 'unreadable' | 'malformed';

export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
  readonly code: KubeconfigErrorCode;

  constructor(code: KubeconfigErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
