// The CustomResourceDefinition of AdditionalListener, read from deploy/crds/: the in-memory API and real sites use the same file.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { StoredObject } from '../stored-object.ts';
import type { Schema } from './schema.ts';

const FILE = new URL('../../../deploy/crds/additionallisteners.isthmus.dev.yaml', import.meta.url);

interface Column {
  readonly name: string;
  readonly jsonPath: string;
  readonly priority?: number;
}

interface Version {
  readonly name: string;
  readonly additionalPrinterColumns: readonly Column[];
  readonly schema: { readonly openAPIV3Schema: Schema };
}

interface Definition extends StoredObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly shortNames: readonly string[] };
    readonly scope: string;
    readonly versions: readonly Version[];
  };
}

export const additionalListenerDefinition = (): Definition => parse(readFileSync(FILE, 'utf8'));
