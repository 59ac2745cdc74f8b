import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HttpMethod, pathParts, resourcePath, shownTarget, verbOf } from './api-path.ts';

describe('a path', () => {
  test.each([
    [{ group: '', version: 'v1', resource: 'services', namespace: 'a' }, '/api/v1/namespaces/a/services'],
    [{ group: '', version: 'v1', resource: 'nodes', name: 'n' }, '/api/v1/nodes/n'],
    [
      { group: 'x.io', version: 'v1', resource: 'things', namespace: 'a', name: 'b', subresource: 'status' },
      '/apis/x.io/v1/namespaces/a/things/b/status',
    ],
    [
      { group: '', version: 'v1', resource: 'services', name: 'a/../../b' },
      '/api/v1/services/a%2F..%2F..%2Fb',
    ],
  ])('is built from %j', (ref, path) => {
    expect(resourcePath(ref)).toBe(path);
  });

  test.each(['', '.', '..'])('cannot be built with the part "%s"', (name) => {
    expect(() => resourcePath({ group: '', version: 'v1', resource: 'services', name })).toThrow(TypeError);
  });

  test('is parsed into the parts that it was built from, for any names', () => {
    const part = fc
      .string({ minLength: 1 })
      .filter((text) => text !== '.' && text !== '..' && text.isWellFormed());
    fc.assert(
      fc.property(part, part, fc.constantFrom('', 'x.io'), (namespace, name, group) => {
        const path = resourcePath({ group, version: 'v1', resource: 'services', namespace, name });
        expect(pathParts(path)).toEqual({ resource: 'services', namespace, name, subresource: null });
        expect(path).toMatch(/^[\x21-\x7e]+$/);
      }),
    );
  });
});

test.each<[HttpMethod, string, verb: string, shown: string]>([
  ['GET', '/api/v1/namespaces/a/services', 'list', 'services in a'],
  ['GET', '/api/v1/services', 'list', 'services'],
  ['GET', '/api/v1/namespaces/a/services/s', 'get', 'services "s" in a'],
  ['GET', '/api/v1/namespaces', 'list', 'namespaces'],
  ['GET', '/api/v1/namespaces/a', 'get', 'namespaces "a"'],
  ['PUT', '/api/v1/namespaces/a/finalize', 'update', 'namespaces/finalize "a"'],
  ['PATCH', '/apis/x.io/v1/namespaces/a/things/t/status', 'patch', 'things/status "t" in a'],
  ['POST', '/apis/x.io/v1/things', 'create', 'things'],
  ['DELETE', '/apis/x.io/v1/things/t', 'delete', 'things "t"'],
  ['DELETE', '/apis/x.io/v1/things', 'deletecollection', 'things'],
  ['GET', '/apis/x.io', 'get', '/apis/x.io'],
  ['GET', '/apis/x.io/v1', 'get', '/apis/x.io/v1'],
  ['GET', '/readyz', 'get', '/readyz'],
  ['GET', `/api/v1/nodes/${'n'.repeat(5000)}`, 'get', `nodes "${'n'.repeat(80)}…"`],
  ['GET', '/api/v1/nodes/%zz%0a', 'get', 'nodes "%zz%0a"'],
])('%s %s is to %s %s', (method, path, verb, shown) => {
  expect(verbOf(method, path)).toBe(verb);
  expect(shownTarget(path)).toBe(shown);
});
