import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instanceName, leaseName, sliceName } from './instance-name.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const plain = { disambiguate: false };
const hashed = { disambiguate: true };
const nameOf = (nodeName: string) => instanceName({ nodeName, hostname: 'unused' });

describe('the name of an instance', () => {
  test.each([
    ['is the name of its Node', 'net-1', 'pod-7d9f', 'net-1'],
    ['is the host name if the Node is unknown', null, 'net-1', 'net-1'],
    ['is the host name if the name of the Node is empty', '', 'net-1', 'net-1'],
    ['may start with a digit', '7up', '', '7up'],
    ['may have 63 letters', 'n'.repeat(63), '', 'n'.repeat(63)],
  ])('%s', (_title, nodeName, hostname, expected) => {
    expect(instanceName({ nodeName, hostname })).toBe(expected);
  });

  test.each([
    ['upper case', 'NET-1', /^net-1-[0-9a-f]{10}$/],
    ['dots', 'net-1.example.org', /^net-1-example-org-[0-9a-f]{10}$/],
    ['64 letters, which a host name may have', 'n'.repeat(64), /^n{52}-[0-9a-f]{10}$/],
    ['a dash at the position where it is cut', `${'n'.repeat(51)}-${'m'.repeat(20)}`, /^n{51}-[0-9a-f]{10}$/],
    ['dashes at both ends', '-net-', /^net-[0-9a-f]{10}$/],
    ['no valid character', '___', /^host-[0-9a-f]{10}$/],
    ['other scripts', 'узел', /^host-[0-9a-f]{10}$/],
    ['an end that looks like a hash', 'net-1-0123456789', /^net-1-0123456789-[0-9a-f]{10}$/],
  ])('with %s gets a hash of the original name', (_title, given, expected) => {
    expect(nameOf(given)).toMatch(expected);
  });

  test('does not change between versions, so that an instance finds its objects', () => {
    expect(nameOf('NET-1.example.org')).toBe('net-1-example-org-6210b1a987');
  });

  const given = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'A', 'b', '1', '-', '.', '_'), maxLength: 6 }),
    fc.string({ unit: fc.constantFrom('a', 'A', '-'), minLength: 60, maxLength: 80 }),
    fc.string({ unit: 'binary' }),
  );

  test('is always a DNS-1123 label', () => {
    fc.assert(fc.property(given, (text) => void expect(nameOf(text)).toMatch(LABEL)));
  });

  test('is never the name of another host, even if that name looks like a hashed name', () => {
    fc.assert(
      fc.property(given, given, (one, other) => {
        fc.pre(one !== '' && other !== '');
        for (const neighbour of [other, nameOf(one)])
          if (neighbour !== one) expect(nameOf(neighbour)).not.toBe(nameOf(one));
      }),
    );
  });
});

describe('the name of a slice', () => {
  test('consists of the cluster and the instance', () => {
    expect(sliceName('kube-1', 'net-1', plain)).toBe('kube-1-net-1');
  });

  test('gets a hash of the pair if two pairs give the same text', () => {
    expect(sliceName('a-b', 'c', plain)).toBe(sliceName('a', 'b-c', plain));
    expect(sliceName('a-b', 'c', hashed)).toMatch(/^a-b-c-[0-9a-f]{10}$/);
    expect(sliceName('a-b', 'c', hashed)).not.toBe(sliceName('a', 'b-c', hashed));
  });

  test('never exceeds the length limit', () => {
    expect(sliceName('a'.repeat(126), 'b'.repeat(126), plain)).toHaveLength(253);
    for (const options of [plain, hashed]) {
      const name = sliceName('a'.repeat(241), `-${'b'.repeat(63)}`, options);
      expect(name).toMatch(/^a{241}-[0-9a-f]{10}$/);
    }
  });
});

test('the name of a Lease names its instance', () => {
  expect(leaseName('net-1')).toBe('isthmus-net-1');
});
