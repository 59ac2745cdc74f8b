// The rights that an instance needs, optionally without one of them, and the text that reports a missing right.
import { neededRights } from '../../../src/control/objects/needed-rights.ts';
import type { AccessRule } from '../../fake-kube-api/http/access.ts';

export const rules = (without?: { readonly verb: string; readonly resource: string }): AccessRule[] =>
  neededRights({ namespace: null, clusterNamespace: null }).map(({ group, resource, verbs }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: verbs.filter((verb) => verb !== without?.verb || resource !== without.resource),
  }));

export const forbidden = (verb: string, resource: string): RegExp =>
  new RegExp(`forbidden: cannot ${verb} .*${resource}`);
