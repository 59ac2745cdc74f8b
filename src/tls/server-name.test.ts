import { expect, test } from 'vitest';
import type { ServerNameProblem } from './invalid-hello-reason.ts';
import { serverNameProblem, serverNameText } from './server-name.ts';

function latin1(name: string): Uint8Array {
  return new Uint8Array(Buffer.from(name, 'latin1'));
}

const label = (length: number) => 'x'.repeat(length);
const NAME_OF_253 = `${label(63)}.${label(63)}.${label(63)}.${label(61)}`;

test.each<[title: string, name: string, text: string]>([
  ['a cluster name is used unchanged', 'demo-cluster.magnum-system', 'demo-cluster.magnum-system'],
  ['a single label is a name', 'demo', 'demo'],
  ['upper case is folded', 'Demo-CLUSTER.Magnum-System', 'demo-cluster.magnum-system'],
  ['one trailing dot is dropped', 'demo.magnum-system.', 'demo.magnum-system'],
  ['an underscore is accepted', '_https._tcp.demo', '_https._tcp.demo'],
  ['a label may be a number', '10.demo', '10.demo'],
  ['three numbers are not an address', '1.2.3', '1.2.3'],
  ['five numbers are not an address', '1.2.3.4.5', '1.2.3.4.5'],
  ['an internationalised name of A-labels is accepted', 'XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
  ['253 bytes are a name', NAME_OF_253, NAME_OF_253],
  ['253 bytes and the dot are a name', `${NAME_OF_253}.`, NAME_OF_253],
])('%s', (_title, name, text) => {
  const bytes = latin1(name);
  expect(serverNameProblem(bytes, 0, bytes.length)).toBeUndefined();
  expect(serverNameText(bytes, 0, bytes.length)).toBe(text);
});

test.each<[title: string, name: string, problem: ServerNameProblem]>([
  ['an empty name is rejected', '', 'name-empty'],
  ['the root is rejected', '.', 'name-empty'],
  ['254 bytes are too long', `x${NAME_OF_253}`, 'name-too-long'],
  ['254 bytes and the dot are too long', `x${NAME_OF_253}.`, 'name-too-long'],
  ['a NUL is rejected', 'demo\0.evil', 'name-has-nul'],
  ['a NUL at the end is rejected', 'demo\0', 'name-has-nul'],
  ['a byte over 0x7f is rejected', 'b\xfccher.example', 'name-not-ascii'],
  ['0x80 is rejected', '\x80', 'name-not-ascii'],
  ['DEL is a bad character', 'demo\x7f', 'name-bad-character'],
  ['a space is a bad character', 'demo cluster', 'name-bad-character'],
  ['a line end is a bad character', 'demo\r\n', 'name-bad-character'],
  ['a wildcard is a bad character', '*.magnum-system', 'name-bad-character'],
  ['a slash is a bad character', 'demo/api', 'name-bad-character'],
  ['a port is a bad character', 'demo:6443', 'name-bad-character'],
  ['an empty label is rejected', 'demo..magnum-system', 'name-bad-label'],
  ['an empty first label is rejected', '.demo', 'name-bad-label'],
  ['only one trailing dot is dropped', 'demo..', 'name-bad-label'],
  ['a label of 64 bytes is rejected', `${label(64)}.demo`, 'name-bad-label'],
  ['a last label of 64 bytes is rejected', `demo.${label(64)}`, 'name-bad-label'],
  ['an IPv4 address is rejected', '192.0.2.1', 'name-is-ip'],
  ['an IPv4 address with a trailing dot is rejected', '192.0.2.1.', 'name-is-ip'],
  ['an IPv4 address with leading zeros is rejected', '010.000.000.001', 'name-is-ip'],
  ['four numbers too large for an address are rejected', '999.1.1.1', 'name-is-ip'],
  ['an IPv6 address is rejected', '2001:db8::1', 'name-is-ip'],
  ['an IPv6 address with a trailing dot is rejected', '2001:db8::1.', 'name-is-ip'],
  ['the unspecified IPv6 address is rejected', '::', 'name-is-ip'],
  ['an IPv6 address in brackets is rejected', '[2001:DB8::1]', 'name-is-ip'],
  ['an IPv4-mapped IPv6 address is rejected', '::ffff:192.0.2.1', 'name-is-ip'],
  ['brackets alone are bad characters', '[]', 'name-bad-character'],
])('%s', (_title, name, problem) => {
  const bytes = latin1(name);
  expect(serverNameProblem(bytes, 0, bytes.length)).toBe(problem);
});

test('only the bytes of the name count, not those around it', () => {
  const bytes = latin1('\0\0demo\0\0');
  expect(serverNameProblem(bytes, 2, 4)).toBeUndefined();
  expect(serverNameText(bytes, 2, 4)).toBe('demo');
});
