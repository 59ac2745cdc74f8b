import { describe, expect, test } from 'vitest';
import { fakeError } from '../../test/kube/fake-collection.ts';
import type { KubeClient } from './kube-client.ts';
import { type ServedVersion, servedPath, servedVersion } from './served-version.ts';

const KNOWN = ['v1beta2', 'v1beta1', 'v1alpha7'];

/** Versions in the server's order, the preferred one first, each with its resources. */
function client(group: Record<string, readonly string[]> | null): { asked: string[]; client: KubeClient } {
  const asked: string[] = [];
  const request = async ({ path }: { path: string }): Promise<unknown> => {
    asked.push(path);
    const [, , name, version] = path.split('/');
    if (group === null || name !== 'x.io') throw fakeError('not-found', 'get');
    if (version === undefined) {
      const versions = Object.keys(group).map((each) => ({ groupVersion: `x.io/${each}`, version: each }));
      return { kind: 'APIGroup', name, versions, preferredVersion: versions[0] };
    }
    const resources = group[version];
    if (resources === undefined) throw fakeError('not-found', 'get');
    return {
      kind: 'APIResourceList',
      resources: resources.map((name) => ({ name })),
    };
  };
  return { asked, client: { request } as unknown as KubeClient };
}

describe('the version to use', () => {
  test.each<[title: string, group: Record<string, readonly string[]> | null, answer: ServedVersion]>([
    ['is none when the group does not exist', null, { kind: 'not-installed' }],
    ['is none when the group has other resources only', { v1beta1: ['others'] }, { kind: 'not-installed' }],
    [
      'is the version that the server prefers, if it is known',
      { v1beta1: ['things', 'things/status'], v1beta2: ['things'] },
      { kind: 'served', version: 'v1beta1' },
    ],
    [
      'is the best known version, if the server prefers an unknown one',
      { v9: ['things'], v1alpha7: ['things'], v1beta1: ['things'] },
      { kind: 'served', version: 'v1beta1' },
    ],
    [
      'is a version that has the resource, although the group prefers another',
      { v1beta2: ['others'], v1beta1: ['things'] },
      { kind: 'served', version: 'v1beta1' },
    ],
    [
      'is reported as unknown if the server has only unknown versions',
      { v9: ['things'] },
      { kind: 'unknown-version', versions: ['v9'] },
    ],
  ])('%s', async (_title, group, answer) => {
    const fake = client(group);
    expect(
      await servedVersion({ client: fake.client, group: 'x.io', resource: 'things', known: KNOWN }),
    ).toEqual(answer);
    expect(fake.asked.length).toBeLessThanOrEqual(4);
  });

  test.each([null, 'text', {}, { versions: 'x' }, { versions: [null, { version: 5 }] }])(
    'is none in an answer such as %j',
    async (answer) => {
      const odd = { request: async () => answer } as unknown as KubeClient;
      expect(await servedVersion({ client: odd, group: 'x.io', resource: 'things', known: KNOWN })).toEqual({
        kind: 'not-installed',
      });
    },
  );

  test('is an error when the server does not answer', async () => {
    const silent = {
      request: async () => {
        throw fakeError('unreachable', 'get');
      },
    } as unknown as KubeClient;
    await expect(
      servedVersion({ client: silent, group: 'x.io', resource: 'things', known: KNOWN }),
    ).rejects.toMatchObject({
      code: 'unreachable',
    });
  });
});

test('the path of a collection covers one namespace or all namespaces', () => {
  const found = { kind: 'served', version: 'v1' } as const;
  const things = { group: 'x.io', resource: 'things', known: ['v1'] };
  expect(servedPath(found, things, 'a')).toBe('/apis/x.io/v1/namespaces/a/things');
  expect(servedPath(found, things, null)).toBe('/apis/x.io/v1/things');
});
