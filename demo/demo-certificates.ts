// Creates the certificates of the demo with openssl, as a control plane provider does: for each cluster a CA, a certificate for its
// API server and one for a client.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface ClusterCertificates {
  readonly ca: Certificate;
  readonly server: Certificate;
  /** The certificate of the cluster's administrator, for its kubeconfig. */
  readonly client: Certificate;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function clusterCertificates(directory: string, name: string): ClusterCertificates {
  const ca = authority(directory, name, `CA of ${name}`, null);
  const names = [name, `${name}.magnum-system`, `${name}.magnum-system.svc`];
  const server = signed(
    directory,
    `${name}-server`,
    `/CN=kube-apiserver of ${name}`,
    `subjectAltName=${names.map((each) => `DNS:${each}`).join(',')}`,
    ca,
  );
  const client = signed(
    directory,
    `${name}-client`,
    `/O=system:masters/CN=${name}-admin`,
    'extendedKeyUsage=clientAuth',
    ca,
  );
  return { ca, server, client };
}

/** A self-signed CA certificate, with subject alternative names if given. */
export function authority(
  directory: string,
  file: string,
  commonName: string,
  subjectAltName: string | null,
): Certificate {
  const { certFile, keyFile } = files(directory, file);
  const extension = subjectAltName === null ? [] : ['-addext', `subjectAltName=${subjectAltName}`];
  const subject = ['-subj', `/CN=${commonName}`, ...extension];
  openssl('req', '-x509', ...NEW_KEY, '-keyout', keyFile, '-out', certFile, '-days', '365', ...subject);
  return read(directory, file);
}

function signed(
  directory: string,
  file: string,
  subject: string,
  extension: string,
  ca: Certificate,
): Certificate {
  const { certFile, keyFile } = files(directory, file);
  const [request, extensions] = [join(directory, `${file}.csr`), join(directory, `${file}.ext`)];
  openssl('req', '-new', ...NEW_KEY, '-keyout', keyFile, '-out', request, '-subj', subject);
  writeFileSync(extensions, `${extension}\n`);
  const by = ['-CA', ca.certFile, '-CAkey', ca.keyFile, '-CAcreateserial', '-days', '365'];
  openssl('x509', '-req', '-in', request, '-out', certFile, ...by, '-extfile', extensions);
  return read(directory, file);
}

function files(directory: string, file: string): { certFile: string; keyFile: string } {
  return { certFile: join(directory, `${file}.crt`), keyFile: join(directory, `${file}.key`) };
}

function read(directory: string, file: string): Certificate {
  const { certFile, keyFile } = files(directory, file);
  return { certFile, keyFile, cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
