// Exec plugins of a kubeconfig: programs that print credentials. Runs the plugin with a deadline, caches the credential until it
// expires, and never quotes the plugin's stdout.
import { type ExecFileException, execFile } from 'node:child_process';
import { isRecord } from '../kube-object.ts';
import type { ExecAccess } from './kubeconfig.ts';
import { KubeconfigError } from './kubeconfig-error.ts';

export interface ExecCredential {
  readonly token: string | null;
  readonly cert: Buffer | null;
  readonly key: Buffer | null;
}

export interface ExecPluginOptions {
  readonly access: ExecAccess;
  /** The environment of this process. The plugin gets it, with the additions from the kubeconfig. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly wallClock?: () => number;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT = 1024 * 1024;
/** Get a new token this long before the old one expires: a token that expires on its way to the server is rejected. */
const EXPIRY_MARGIN_MS = 10_000;

export class ExecPlugin {
  readonly #options: ExecPluginOptions;
  #credential: ExecCredential | null = null;
  #expiresAtMs = Number.POSITIVE_INFINITY;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  /** Must not be called again before it has resolved. */
  async credential(force: boolean): Promise<ExecCredential> {
    const { wallClock = Date.now } = this.#options;
    if (!force && this.#credential !== null && wallClock() < this.#expiresAtMs - EXPIRY_MARGIN_MS)
      return this.#credential;
    const status = statusOf(this.#options.access, await this.#run());
    const expires =
      typeof status.expirationTimestamp === 'string' ? Date.parse(status.expirationTimestamp) : Number.NaN;
    this.#expiresAtMs = Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires;
    const text = (name: string) =>
      typeof status[name] === 'string' && status[name] !== '' ? String(status[name]) : null;
    const token = text('token');
    if (token !== null && !/^[\x21-\x7e]+$/.test(token))
      throw new KubeconfigError(
        'malformed',
        `the plugin ${this.#options.access.command} printed an invalid token`,
      );
    const pem = (name: string) => (text(name) === null ? null : Buffer.from(text(name) as string));
    this.#credential = {
      token,
      cert: pem('clientCertificateData'),
      key: pem('clientKeyData'),
    };
    return this.#credential;
  }

  #run(): Promise<string> {
    const { access, environment, timeoutMs = TIMEOUT_MS } = this.#options;
    const info = { kind: 'ExecCredential', apiVersion: access.apiVersion, spec: { interactive: false } };
    const env = { ...environment, KUBERNETES_EXEC_INFO: JSON.stringify(info), ...access.env };
    return new Promise((resolve, reject) => {
      const options = { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT } as const;
      const child = execFile(access.command, access.args, options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            new KubeconfigError('unreadable', `the plugin ${access.command} ${failureOf(error, stderr)}`),
          );
      });
      child.stdin?.on('error', () => {}).end(); // there is no interactive input
    });
  }
}

/** Node's own message quotes the whole command line, and arguments can contain passwords. */
function failureOf(error: ExecFileException, stderr: string): string {
  if (typeof error.code === 'string') return `could not be run: ${error.code}`;
  if (error.killed) return 'did not answer in time';
  const output = stderr.trim().slice(0, 200);
  return `failed with ${error.code ?? error.signal}${output === '' ? '' : `: ${withoutLongWords(output)}`}`;
}

/** Removes words that could be tokens from the plugin's stderr, and keeps the text for the operator. */
const withoutLongWords = (text: string): string => text.replace(/[\w+/=.~-]{40,}/g, '…');

function statusOf({ command }: ExecAccess, stdout: string): Readonly<Record<string, unknown>> {
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    answer = null; // the parser's error would quote stdout
  }
  const status = isRecord(answer) && answer.kind === 'ExecCredential' ? answer.status : null;
  if (!isRecord(status))
    throw new KubeconfigError('malformed', `the plugin ${command} printed no ExecCredential`);
  return status;
}
