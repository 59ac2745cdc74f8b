// The kinds that are currently served: the built-in kinds, and one for each CustomResourceDefinition in the store. The definition
// controller updates the table, so a change of a definition takes effect with the write itself.

import type { GroupVersion, StoredObject } from '../stored-object.ts';
import { builtInTypes } from './built-in-types.ts';
import { type Conversion, compareVersions, customType } from './custom-types.ts';
import type { ApiOfType, ResourceType } from './resource-type.ts';

export const CRD_RESOURCE = 'customresourcedefinitions.apiextensions.k8s.io';

export class ResourceTable {
  readonly #types = new Map<string, ResourceType>();
  readonly #conversions: ReadonlyMap<string, Conversion>;

  constructor({ conversions }: { readonly conversions: ReadonlyMap<string, Conversion> }) {
    this.#conversions = conversions;
    for (const type of builtInTypes()) this.#types.set(type.key, type);
  }

  type(key: string): ResourceType | null {
    return this.#types.get(key) ?? null;
  }

  types(): readonly ResourceType[] {
    return [...this.#types.values()];
  }

  /** null when no such resource is served in that version. */
  find(group: string, version: string, plural: string): ApiOfType | null {
    for (const type of this.#types.values()) {
      if (type.plural !== plural) continue;
      const api = type.apis.find((each) => each.served && each.group === group && each.version === version);
      if (api !== undefined) return { type, api };
    }
    return null;
  }

  /** For error messages: the requested version may not exist. */
  ofResource(group: string, plural: string): ResourceType | null {
    return (
      [...this.#types.values()].find(
        (type) => type.plural === plural && type.apis.some((each) => each.group === group),
      ) ?? null
    );
  }

  ofKind({ group, version }: GroupVersion, kind: string): ApiOfType | null {
    for (const type of this.#types.values()) {
      if (type.kind !== kind) continue;
      const api = type.apis.find((each) => each.group === group && each.version === version);
      if (api !== undefined) return { type, api };
    }
    return null;
  }

  /** Every group with its served versions, preferred version first. The core group is ''. */
  groups(): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, Set<string>>();
    for (const type of this.#types.values())
      for (const { group, version, served } of type.apis) {
        if (!served) continue;
        const versions = groups.get(group) ?? new Set();
        groups.set(group, versions.add(version));
      }
    return new Map([...groups].map(([group, versions]) => [group, [...versions].sort(compareVersions)]));
  }

  install(crd: StoredObject): ResourceType {
    const type = customType(crd, this.#conversions.get(crd.metadata.name ?? ''));
    this.#types.set(type.key, type);
    return type;
  }

  uninstall(key: string): void {
    this.#types.delete(key);
  }

  /** Called after a restore of the store. */
  reinstall(crds: readonly StoredObject[]): void {
    for (const [key, { custom }] of this.#types) if (custom) this.#types.delete(key);
    for (const crd of crds) this.install(crd);
  }
}
