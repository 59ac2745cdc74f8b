// Converts the table of needed rights (control/objects/needed-rights.ts) to rules of the in-memory management API.
import { neededRights, type RightsSettings } from '../../src/control/objects/needed-rights.ts';
import type { AccessRule } from './http/access.ts';

/** Each rule covers one namespace. A right with namespace null covers all namespaces. */
export function neededRules(settings: RightsSettings): AccessRule[] {
  return neededRights(settings).map(({ namespace, group, resource, verbs }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
    ...(namespace !== null && { namespace }),
  }));
}
