// The error for a missing, unreadable or malformed kubeconfig. Its message never quotes a credential.

export type KubeconfigErrorCode = 'missing' | 'unreadable' | 'malformed';

export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
  readonly code: KubeconfigErrorCode;

  constructor(code: KubeconfigErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
