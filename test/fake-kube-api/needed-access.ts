// The rights of the one table (control/objects/needed-rights.ts) as rules of the embedded management API.
import { neededRights, type RightsSettings } from '../../src/control/objects/needed-rights.ts';
import type { AccessRule } from './http/access.ts';

/** One namespace each; null: in all namespaces. */
export function neededRules(settings: RightsSettings): AccessRule[] {
  return neededRights(settings).map(({ namespace, group, resource, verbs }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
    ...(namespace !== null && { namespace }),
  }));
}
