import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { neededRights } from '../../src/control/objects/needed-rights.ts';
import { neededRules } from './needed-access.ts';

const EVERYWHERE = { namespace: null, clusterNamespace: null };
const RIGHTS = neededRights(EVERYWHERE);

describe('the rights that Isthmus needs', () => {
  test('are those of the example Role', () => {
    const file = new URL('../../deploy/examples/kubernetes-source/rbac.yaml', import.meta.url);
    const documents = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS());
    const { rules } = documents.find(({ kind }) => kind === 'Role');
    expect(rules).toEqual(
      neededRules(EVERYWHERE).map(({ apiGroups, resources, verbs }) => ({
        apiGroups,
        resources,
        verbs,
      })),
    );
  });

  test('also include those of the example ClusterRole if nodes are selected', () => {
    const file = new URL('../../deploy/examples/kubernetes-source/rbac-node-selector.yaml', import.meta.url);
    const documents = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS());
    const { rules } = documents.find(({ kind }) => kind === 'ClusterRole');
    const all = neededRules({ ...EVERYWHERE, nodeSelector: [] });
    expect(all.slice(0, RIGHTS.length)).toEqual(neededRules(EVERYWHERE));
    expect(rules).toEqual(all.slice(RIGHTS.length));
  });

  test('apply to one namespace, or to all namespaces if none is set', () => {
    const rules = neededRules({ clusterNamespace: null, namespace: 'magnum-system' });
    expect(rules.map(({ namespace }) => namespace)).toEqual(
      RIGHTS.map(({ where }) => (where === 'clusters' ? undefined : 'magnum-system')),
    );
  });

  test('include no wildcard, no change of a cluster, and no creation or deletion of a Secret', () => {
    const verbsOf = (wanted: string) =>
      RIGHTS.flatMap(({ resource, verbs }) => (resource === wanted ? verbs : []));
    expect(JSON.stringify(RIGHTS)).not.toContain('*');
    expect(verbsOf('openstackclusters')).toEqual(['list', 'watch']);
    expect(verbsOf('secrets')).not.toEqual(expect.arrayContaining(['create']));
    expect(verbsOf('secrets')).not.toEqual(expect.arrayContaining(['delete']));
  });
});
