// The captured hellos of this folder and what is known of each without any parser. README.md says how they were taken.

import { readFileSync } from 'node:fs';

export interface Capture {
  readonly name: string;
  readonly serverName: string | null;
  readonly bytes: Uint8Array;
}

const SERVER_NAME = 'demo-cluster.magnum-system';

export const CAPTURES: readonly Capture[] = [
  capture('openssl-3.0'),
  capture('openssl-3.0-tls1.2'),
  capture('openssl-3.0-tls1.0'),
  capture('openssl-3.0-no-server-name', null),
  capture('openssl-3.0-four-records'),
  capture('go-1.26'),
  capture('node-24'),
  capture('node-20'),
  capture('python-3.11'),
  capture('java-17'),
  capture('curl-7.88'),
  capture('curl-7.88-tls1.2'),
  capture('gnutls-3.7'),
  capture('kubectl-1.32'),
  capture('chromium-156-a'),
  capture('chromium-156-b'),
  capture('chromium-156-c'),
];

function capture(name: string, serverName: string | null = SERVER_NAME): Capture {
  const text = readFileSync(new URL(`${name}.hex`, import.meta.url), 'utf8');
  return { name, serverName, bytes: new Uint8Array(Buffer.from(text.replaceAll(/\s/g, ''), 'hex')) };
}
