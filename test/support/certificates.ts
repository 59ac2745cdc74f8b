// Certificates for tests. openssl makes each one once per process, in a temporary directory.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
}

const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-certs-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** A self-signed certificate for these names or addresses. It is its own CA: a client that trusts it trusts no other server. */
export function selfSigned(...names: readonly [string, ...string[]]): Certificate {
  const base = join(directory, names[0]);
  const [certFile, keyFile, config] = [`${base}.crt`, `${base}.key`, `${base}.cnf`];
  const subject = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join(',');
  writeFileSync(
    config,
    `[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nCN=${names[0]}\n[ext]\nsubjectAltName=${subject}\nbasicConstraints=critical,CA:TRUE\n`,
  );
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', keyFile];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '365', '-config', config], {
    stdio: 'pipe',
  });
  return { certFile, keyFile, cert: readFileSync(certFile), key: readFileSync(keyFile) };
}
