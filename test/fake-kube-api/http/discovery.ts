// The discovery documents for kubectl and client libraries: /version, /api, /apis. The OpenAPI part is minimal: it tells kubectl
// that the server validates fields.
import type { ResourceTable } from '../types/resource-table.ts';
import type { ResourceType } from '../types/resource-type.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Reviews are answered at once and not stored. */
export const REVIEWS: readonly {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
}[] = [
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
  },
  {
    group: 'authorization.k8s.io',
    version: 'v1',
    plural: 'selfsubjectrulesreviews',
    kind: 'SelfSubjectRulesReview',
  },
  { group: 'authentication.k8s.io', version: 'v1', plural: 'selfsubjectreviews', kind: 'SelfSubjectReview' },
];

export const VERSION = {
  major: '1',
  minor: '35',
  gitVersion: 'v1.35.0+isthmus.embedded',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: 'linux/amd64',
};

interface Group {
  readonly name: string;
  readonly versions: readonly { readonly groupVersion: string; readonly version: string }[];
  readonly preferredVersion: { readonly groupVersion: string; readonly version: string } | undefined;
}

function groups(table: ResourceTable): Group[] {
  const found = new Map(table.groups());
  for (const { group, version } of REVIEWS) found.set(group, [version]);
  found.delete('');
  return [...found].map(([name, versions]) => {
    const listed = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: listed, preferredVersion: listed[0] };
  });
}

const entryOf = (type: ResourceType, extra: object): object => ({
  name: type.plural,
  singularName: type.singular,
  namespaced: type.namespaced,
  kind: type.kind,
  verbs: VERBS,
  ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
  ...extra,
});

function resourceList(table: ResourceTable, group: string, version: string): object | null {
  const resources: object[] = [];
  for (const type of table.types()) {
    const api = type.apis.find((each) => each.served && each.group === group && each.version === version);
    if (api === undefined) continue;
    resources.push(entryOf(type, {}));
    if (api.hasStatus)
      resources.push({
        name: `${type.plural}/status`,
        singularName: '',
        namespaced: type.namespaced,
        kind: type.kind,
        verbs: ['get', 'patch', 'update'],
      });
  }
  for (const review of REVIEWS)
    if (review.group === group && review.version === version)
      resources.push({
        name: review.plural,
        singularName: review.kind.toLowerCase(),
        namespaced: false,
        kind: review.kind,
        verbs: ['create'],
      });
  if (resources.length === 0) return null;
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

/** null for an unknown path. */
export function discoveryDocument(table: ResourceTable, path: string): object | null {
  const [root, ...rest] = path.split('/').filter((part) => part !== '');
  if (root === 'version' && rest.length === 0) return VERSION;
  if (root === 'api') {
    if (rest.length === 0)
      return {
        kind: 'APIVersions',
        versions: ['v1'],
        serverAddressByClientCIDRs: [],
      };
    return rest.length === 1 ? resourceList(table, '', rest[0] as string) : null;
  }
  if (root === 'apis') {
    if (rest.length === 0) return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups(table) };
    const [group = '', version] = rest;
    if (rest.length === 1) {
      const found = groups(table).find(({ name }) => name === group);
      return found === undefined ? null : { kind: 'APIGroup', apiVersion: 'v1', ...found };
    }
    return rest.length === 2 ? resourceList(table, group, version as string) : null;
  }
  if (root === 'openapi' && rest[0] === 'v3') return openApi(table, rest.slice(1).join('/'));
  return null;
}

function openApi(table: ResourceTable, below: string): object | null {
  const versions = [...table.groups()].flatMap(([group, all]) =>
    all.map((version) => ({
      group,
      version,
      at: group === '' ? `api/${version}` : `apis/${group}/${version}`,
    })),
  );
  if (below === '')
    return {
      paths: Object.fromEntries(versions.map(({ at }) => [at, { serverRelativeURL: `/openapi/v3/${at}` }])),
    };
  const found = versions.find(({ at }) => at === below);
  if (found === undefined) return null;
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string' },
  }));
  const paths: Record<string, object> = {};
  const schemas: Record<string, object> = {};
  for (const type of table.types()) {
    const api = type.apis.find(
      (each) => each.served && each.group === found.group && each.version === found.version,
    );
    if (api === undefined) continue;
    const gvk = { group: api.group, version: api.version, kind: type.kind };
    const scope = type.namespaced ? '/namespaces/{namespace}' : '';
    paths[`/${found.at}${scope}/${type.plural}/{name}`] = {
      patch: {
        parameters,
        responses: {},
        'x-kubernetes-action': 'patch',
        'x-kubernetes-group-version-kind': gvk,
      },
    };
    schemas[`embedded.${type.kind}`] = {
      type: 'object',
      properties: api.schema.properties ?? {},
      'x-kubernetes-group-version-kind': [gvk],
    };
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Isthmus', version: VERSION.gitVersion },
    paths,
    components: { schemas },
  };
}
