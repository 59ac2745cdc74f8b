// The definitions of OpenStackCluster for the suite: ours, and those of CAPO's releases.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { openStackClusterDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';

const RELEASES =
  process.env.ISTHMUS_CAPO_DEFINITIONS ?? fileURLToPath(new URL('./releases', import.meta.url));

/** The file names of the definitions of releases. */
export const REAL_DEFINITIONS: readonly string[] = readdirSync(RELEASES)
  .filter((file) => file.endsWith('.yaml'))
  .sort();

export function definitionsToTry(): ReadonlyMap<string, StoredObject> {
  const files = REAL_DEFINITIONS.filter((file) => file.startsWith('openstackclusters-'));
  return new Map([
    ['reduced', openStackClusterDefinition()],
    ...files.map((file) => [file, realDefinition(file)] as const),
  ]);
}

/** One real definition by its file name, such as `machines-cluster-api-1.11.yaml`. */
export function realDefinition(file: string): StoredObject {
  return parse(readFileSync(join(RELEASES, file), 'utf8')) as StoredObject;
}
