// A certificate authority as kubeadm makes one for a cluster: it signs the certificates of the API server and its clients.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Certificate } from '../support/certificates.ts';

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });

export class Authority {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-authority-'));
  readonly certFile = join(this.directory, 'ca.crt');
  readonly #keyFile = join(this.directory, 'ca.key');
  #issued = 0;

  constructor(name: string) {
    process.on('exit', () => rmSync(this.directory, { recursive: true, force: true }));
    const to = ['-keyout', this.#keyFile, '-out', this.certFile, '-days', '365', '-subj', `/CN=${name}`];
    openssl('req', '-x509', ...NEW_KEY, ...to);
  }

  get cert(): Buffer {
    return readFileSync(this.certFile);
  }

  /** `subject` in openssl notation (`/O=system:masters/CN=admin`); `names` are DNS names and addresses. */
  issue(subject: string, names: readonly string[] = []): Certificate {
    this.#issued += 1;
    const base = join(this.directory, `issued-${this.#issued}`);
    const [certFile, keyFile, request] = [`${base}.crt`, `${base}.key`, `${base}.csr`];
    openssl('req', '-new', ...NEW_KEY, '-keyout', keyFile, '-out', request, '-subj', subject);
    const extensions: string[] = [];
    if (names.length > 0) {
      const all = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
      writeFileSync(`${base}.ext`, `subjectAltName=${all}\n`);
      extensions.push('-extfile', `${base}.ext`);
    }
    const by = ['-CA', this.certFile, '-CAkey', this.#keyFile, '-CAcreateserial'];
    openssl('x509', '-req', '-in', request, ...by, '-days', '365', '-out', certFile, ...extensions);
    return { certFile, keyFile, cert: readFileSync(certFile), key: readFileSync(keyFile) };
  }
}
