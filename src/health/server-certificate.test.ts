import { describe, expect, test } from 'vitest';
import { expiryOf, rereadAfterMs, serverCertificate } from './server-certificate.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const END = 'Nov 19 12:00:00 2026 GMT';
const END_MS = Date.UTC(2026, 10, 19, 12);
const read = (subjectAltName: string | undefined, validTo = END) =>
  serverCertificate({ subjectAltName, validTo } as Parameters<typeof serverCertificate>[0]);

describe('the names of a certificate', () => {
  test.each<[title: string, text: string | undefined, names: readonly string[], omitted: number]>([
    ['absent', undefined, [], 0],
    [
      'of kubeadm',
      'DNS:kubernetes, DNS:kubernetes.default.svc, DNS:cp-0, IP Address:10.96.0.1, IP Address:FD00:0:0:0:0:0:0:5',
      ['kubernetes', 'kubernetes.default.svc', 'cp-0', '10.96.0.1', 'fd00::5'],
      0,
    ],
    ['in upper case, with a trailing dot, twice', 'DNS:Alpha.NS., DNS:alpha.ns', ['alpha.ns'], 0],
    ['with wildcards', 'DNS:*.ns.svc, DNS:a.*.b, DNS:*', ['*.ns.svc'], 2],
    ['that Node quotes', 'DNS:"a, DNS:b", DNS:c', ['c'], 1],
    ['with control characters or spaces', 'DNS:a\u0000b, DNS:a b, DNS:a\nb, DNS:c', ['c'], 3],
    ['that are addresses, but claim to be DNS names', 'DNS:10.0.0.5', [], 1],
    ['that claim to be addresses', 'IP Address:<invalid>, IP Address:10.0.0.5', ['10.0.0.5'], 1],
    ['of other kinds', 'email:a@b, URI:http://x/, DNS:a', ['a'], 0],
    ['longer than a name may be', `DNS:${'a'.repeat(254)}, DNS:b`, ['b'], 1],
    ['longer than a name may be, with a wildcard', `DNS:*.${'a'.repeat(252)}, DNS:b`, ['b'], 1],
  ])('%s', (_title, text, names, omitted) => {
    expect(read(text)).toEqual({ names, omitted, notAfterMs: END_MS });
  });

  test('are bounded in number and in text', () => {
    const many = read(Array.from({ length: 400 }, (_, i) => `DNS:n${i}`).join(', '));
    expect(many?.names).toHaveLength(256);
    expect(many?.omitted).toBe(144);
    const long = read(`${'URI:x, '.repeat(20_000)}DNS:last`);
    expect(long).toMatchObject({ names: [], omitted: 1 });
    // The text ends within a name.
    const cut = read(`${'DNS:a, '.repeat(4680)}DNS:alpha.ns.example`);
    expect(cut?.names).toEqual(['a']);
  });

  test('of a certificate without a valid end are not used', () => {
    expect(read('DNS:a', 'Bad time value')).toBeNull();
  });
});

test.each<[left: number, expiry: string, again: number]>([
  [365 * DAY_MS, 'valid', DAY_MS],
  [31 * DAY_MS, 'valid', DAY_MS],
  [29 * DAY_MS, 'soon', DAY_MS],
  [2 * DAY_MS, 'soon', DAY_MS / 2],
  [1000, 'soon', DAY_MS / 24],
  [0, 'expired', DAY_MS / 24],
  [-DAY_MS, 'expired', DAY_MS / 24],
])('a certificate that ends in %i ms is %s, and is read again after %i ms', (leftMs, expiry, againMs) => {
  const certificate = { names: [], omitted: 0, notAfterMs: END_MS };
  expect(expiryOf(certificate, END_MS - leftMs)).toBe(expiry);
  expect(rereadAfterMs(certificate, END_MS - leftMs)).toBe(againMs);
});
