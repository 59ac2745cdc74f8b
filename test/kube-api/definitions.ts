// The definitions of OpenStackCluster for the suite: ours, and those of CAPO's releases if a directory has them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { KubeObject } from '../fake-kube-api/kube-object.ts';
import { openStackClusterDefinition } from '../fake-kube-api/types/cluster-api-definitions.ts';

const BESIDE = fileURLToPath(new URL('../../../shared/crds', import.meta.url));

/** The definitions of real releases. They are optional. */
export const REAL_DEFINITIONS =
  process.env.ISTHMUS_CAPO_DEFINITIONS ?? (existsSync(BESIDE) ? BESIDE : '/work/shared/crds');

export function definitionsToTry(): ReadonlyMap<string, KubeObject> {
  const found = new Map([['reduced', openStackClusterDefinition()]]);
  if (!existsSync(REAL_DEFINITIONS)) return found;
  for (const file of readdirSync(REAL_DEFINITIONS).sort())
    if (file.startsWith('openstackclusters-') && file.endsWith('.yaml'))
      found.set(file, parse(readFileSync(join(REAL_DEFINITIONS, file), 'utf8')) as KubeObject);
  return found;
}

/** One real definition by its file name, such as `machines-cluster-api-1.11.yaml`; undefined if it is not available. */
export function realDefinition(file: string): KubeObject | undefined {
  const path = join(REAL_DEFINITIONS, file);
  return existsSync(path) ? (parse(readFileSync(path, 'utf8')) as KubeObject) : undefined;
}
