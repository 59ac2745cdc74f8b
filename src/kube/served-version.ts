// Finds the version of a resource that the API server serves and the caller can read. A missing group is a result, not an error:
// a CRD can be installed later.
import { resourcePath } from './api-path.ts';
import type { KubeClient } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import { isRecord } from './kube-object.ts';

export type ServedVersion =
  | { readonly kind: 'served'; readonly version: string }
  | { readonly kind: 'not-installed' }
  /** The server has the resource, but in no version that the caller can read. */
  | { readonly kind: 'unknown-version'; readonly versions: readonly string[] };

export interface ServedVersionQuestion {
  readonly client: KubeClient;
  readonly group: string;
  /** Plural: `openstackclusters`. */
  readonly resource: string;
  /** The versions that the caller can read, the best first. The server's preferred version wins if it is in this list. */
  readonly known: readonly string[];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Throws KubeError if the server does not answer. */
export async function servedVersion(question: ServedVersionQuestion): Promise<ServedVersion> {
  const { group, known } = question;
  const answer = await found(question, `/apis/${encodeURIComponent(group)}`);
  if (answer === null) return { kind: 'not-installed' };
  const versions = versionsIn(answer);
  const [preferred] = versions;
  const candidates = [preferred, ...known].filter(
    (version, index, all): version is string =>
      version !== undefined &&
      known.includes(version) &&
      versions.includes(version) &&
      all.indexOf(version) === index,
  );
  // Several CRDs can share a group and have different versions.
  for (const version of candidates) {
    if (await hasResource(question, version)) return { kind: 'served', version };
  }
  const others = versions.filter((version) => !candidates.includes(version)).slice(0, MAX_VERSIONS);
  for (const version of others)
    if (await hasResource(question, version)) return { kind: 'unknown-version', versions };
  return { kind: 'not-installed' };
}

/** The path of the collection, in one namespace or in all namespaces (null). Throws KubeError if no readable version is served. */
export function servedPath(
  found: ServedVersion,
  { group, resource, known }: Pick<ServedVersionQuestion, 'group' | 'resource' | 'known'>,
  namespace: string | null,
): string {
  if (found.kind === 'served') {
    const { version } = found;
    return resourcePath({ group, version, resource, ...(namespace === null ? {} : { namespace }) });
  }
  const detail =
    found.kind === 'not-installed'
      ? `the CRD ${resource}.${group} is not installed`
      : `the server serves only ${found.versions.join(', ')}; this program reads ${known.join(', ')}`;
  throw new KubeError({ code: 'not-found', verb: 'list', path: `/apis/${group}`, detail });
}

const MAX_VERSIONS = 20;

async function hasResource(question: ServedVersionQuestion, version: string): Promise<boolean> {
  const { group, resource } = question;
  const path = `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;
  const list = await found(question, path);
  const resources = isRecord(list) && Array.isArray(list.resources) ? list.resources : [];
  return resources.some((each) => isRecord(each) && each.name === resource);
}

async function found({ client, signal, timeoutMs }: ServedVersionQuestion, path: string): Promise<unknown> {
  try {
    const limits = { ...(signal && { signal }), ...(timeoutMs && { timeoutMs }) };
    return await client.request({ method: 'GET', path, ...limits });
  } catch (error) {
    if (error instanceof KubeError && error.code === 'not-found') return null;
    throw error;
  }
}

/** The preferred version comes first. */
function versionsIn(group: unknown): readonly string[] {
  if (!isRecord(group) || !Array.isArray(group.versions)) return [];
  const names = [group.preferredVersion, ...group.versions]
    .map((each) => (isRecord(each) ? each.version : null))
    .filter((version) => typeof version === 'string');
  return [...new Set(names)];
}
