// Writes our reduced definitions as files for kubectl (test/e2e/crds, with `npm test -- test/kube-api/definitions -u`) and compares
// them with the real ones: every field of ours exists in the real definition, with the same limits.
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import {
  machineDefinition,
  openStackClusterDefinition,
} from '../fake-kube-api/types/cluster-api-definitions.ts';
import type { Schema } from '../fake-kube-api/types/schema.ts';
import { REAL_DEFINITIONS, realDefinition } from './definitions.ts';

const HEADER =
  '# Written by test/kube-api/definitions.test.ts from test/fake-kube-api/types/cluster-api-definitions.ts.\n';
// Only one served version: several versions need a conversion webhook, or fields are lost and server-side apply fails.
const DEFINITIONS = [
  openStackClusterDefinition({ served: ['v1beta1'] }),
  machineDefinition({ served: ['v1beta1'] }),
];

test.each(DEFINITIONS.map((each) => [each.metadata.name as string, each] as const))(
  'the file of %s equals the definition in the code',
  async (name, definition) => {
    const text = `${HEADER}${stringify(definition, { aliasDuplicateObjects: false, lineWidth: 110 })}`;
    await expect(text).toMatchFileSnapshot(`../e2e/crds/${name}.yaml`);
  },
);

interface Version {
  readonly name: string;
  readonly schema: { readonly openAPIV3Schema: Schema };
  readonly subresources: object;
}

const versionsOf = (definition: StoredObject): readonly Version[] =>
  (definition.spec as { versions: readonly Version[] }).versions;

/** Differences from the real definition in type, limits, or required fields that both have. */
function differences(ours: Schema, real: Schema | undefined, path: string): string[] {
  if (real === undefined) return [`${path}: the real one has no such field`];
  const found: string[] = [];
  const bounds = [
    'type',
    'format',
    'minimum',
    'maximum',
    'minLength',
    'maxLength',
    'default',
    'enum',
  ] as const;
  for (const bound of bounds)
    if (JSON.stringify(ours[bound]) !== JSON.stringify(real[bound]))
      found.push(
        `${path}.${bound}: ${JSON.stringify(ours[bound])}, the real one ${JSON.stringify(real[bound])}`,
      );
  const needed = (real.required ?? []).filter((field) => ours.required?.includes(field) !== true);
  for (const field of needed) found.push(`${path}.${field}: the real one requires it`);
  for (const field of ours.required ?? [])
    if (real.required?.includes(field) !== true) found.push(`${path}.${field}: only ours requires it`);
  for (const [field, schema] of Object.entries(ours.properties ?? {}))
    found.push(...differences(schema, real.properties?.[field], `${path}.${field}`));
  if (ours.items !== undefined) found.push(...differences(ours.items, real.items, `${path}[]`));
  return found;
}

/** Changes of CAPO releases within one version: our definition cannot match all of them. */
const CHANGED_BETWEEN_RELEASES: readonly RegExp[] = [
  /^v1beta1\.spec\.controlPlaneEndpoint\.(host|port): only ours requires it$/,
  /^v1beta1\.spec\.controlPlaneEndpoint\.host\.maxLength/,
  /^v1beta1\.spec\.identityRef\.(type: the real one requires it|(name|cloudName)\.minLength)/,
];

describe('beside the real definitions', () => {
  test.each(REAL_DEFINITIONS.filter((file) => /^(openstackclusters|machines)-/.test(file)))(
    'our definition agrees with %s in every shared version',
    (file) => {
      const real = realDefinition(file);
      const ours = DEFINITIONS.find(({ metadata }) => metadata.name === real.metadata.name) as StoredObject;
      const found: string[] = [];
      let compared = 0;
      for (const version of versionsOf(ours)) {
        const other = versionsOf(real).find(({ name }) => name === version.name);
        if (other === undefined) continue;
        compared += 1;
        expect(Object.keys(version.subresources)).toEqual(Object.keys(other.subresources));
        const { spec, status } = version.schema.openAPIV3Schema.properties ?? {};
        const whole = other.schema.openAPIV3Schema.properties;
        found.push(...differences(spec as Schema, whole?.spec, `${version.name}.spec`));
        found.push(...differences(status as Schema, whole?.status, `${version.name}.status`));
      }
      expect(compared).toBeGreaterThan(0);
      expect(found.filter((each) => !CHANGED_BETWEEN_RELEASES.some((known) => known.test(each)))).toEqual([]);
    },
  );
});
