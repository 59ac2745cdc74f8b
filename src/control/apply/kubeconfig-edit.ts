// Reads and replaces the `server` that the current context of a kubeconfig uses. It replaces only that scalar, and every other byte
// stays. It parses the result again and compares before it returns. A kubeconfig is a secret: reasons contain only context names,
// cluster names and the position of an error. Pure.
import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, Scalar } from 'yaml';
import { shownValue } from '../objects/shown-value.ts';
import { duplicateKey } from '../sources/duplicate-key.ts';
import { isRecord } from '../sources/manifest-fields.ts';

export type KubeconfigServer =
  | {
      readonly kind: 'found';
      readonly server: string /** The name of its entry. */;
      readonly cluster: string;
    }
  | { readonly kind: 'unusable'; readonly reason: string };

export type KubeconfigChange =
  | { readonly kind: 'changed'; readonly text: string }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'unusable'; readonly reason: string };

/** Cluster API writes 6 KB. The parser needs about 1 s for the worst text of this size, and 20 ms for a typical one. */
const MAX_LENGTH = 128 * 1024;
/** Counted by the yaml package: aliases times the nodes they expand to. */
const MAX_ALIAS_COUNT = 100;

/** `text` must be decoded from UTF-8 with its byte order mark. Otherwise a later write would drop the byte order mark. */
export function kubeconfigServer(text: string): KubeconfigServer {
  const found = located(text);
  return found.kind === 'unusable' ? found : { kind: 'found', server: found.server, cluster: found.cluster };
}

export function withKubeconfigServer(text: string, server: string): KubeconfigChange {
  const found = located(text);
  if (found.kind === 'unusable') return found;
  if (found.server === server) return { kind: 'unchanged' };
  const { document, content, index } = found;

  const node = serverNode(document, index);
  if (node === null) return unusable('its server is in a YAML form that cannot be replaced in place');
  const [start, end] = node.range;
  for (const scalar of spellings(server, node.style)) {
    const changed = `${text.slice(0, start)}${scalar}${text.slice(end)}`;
    if (changesOnlyServer(content, index, server, changed)) return { kind: 'changed', text: changed };
  }
  return unusable(
    `its server cannot be replaced without another change: another part of the kubeconfig ` +
      `shares it, or the cluster ${shownValue(found.cluster)}, by an anchor`,
  );
}

interface Located {
  readonly kind: 'located';
  readonly document: Document.Parsed;
  /** The parsed text as plain data without shared references. */
  readonly content: Record<string, unknown>;
  /** Index of the entry in `clusters`. */
  readonly index: number;
  readonly cluster: string;
  readonly server: string;
}

const unusable = (reason: string): { kind: 'unusable'; reason: string } => ({ kind: 'unusable', reason });

function located(text: string): Located | ReturnType<typeof unusable> {
  const read = parsed(text);
  if (read.kind === 'unusable') return read;
  const { document, content } = read;

  const current = content['current-context'];
  if (typeof current !== 'string' || current === '') return unusable('it has no current-context');
  const contexts = entriesNamed(content.contexts, current);
  const [context] = contexts;
  if (context === undefined || contexts.length > 1) {
    return unusable(
      `${counted(contexts.length, 'context')} named ${shownValue(current)}, which is its current-context`,
    );
  }
  const cluster = isRecord(context.entry.context) ? context.entry.context.cluster : undefined;
  if (typeof cluster !== 'string' || cluster === '')
    return unusable(`its current context ${shownValue(current)} names no cluster`);
  const clusters = entriesNamed(content.clusters, cluster);
  const [chosen] = clusters;
  if (chosen === undefined || clusters.length > 1) {
    return unusable(
      `${counted(clusters.length, 'cluster')} named ${shownValue(cluster)}, which its current context ${shownValue(current)} uses`,
    );
  }
  const server = isRecord(chosen.entry.cluster) ? chosen.entry.cluster.server : undefined;
  if (typeof server !== 'string' || server === '')
    return unusable(`its cluster ${shownValue(cluster)} has no server`);
  return { kind: 'located', document, content, index: chosen.index, cluster, server };
}

const counted = (count: number, what: string): string =>
  count === 0 ? `it has no ${what}` : `it has ${count} ${what}s`;

function entriesNamed(list: unknown, name: string): { index: number; entry: Record<string, unknown> }[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) =>
    isRecord(entry) && entry.name === name ? [{ index, entry }] : [],
  );
}

function parsed(
  text: string,
):
  | { kind: 'parsed'; document: Document.Parsed; content: Record<string, unknown> }
  | ReturnType<typeof unusable> {
  if (text.length > MAX_LENGTH)
    return unusable(`its ${text.length} characters exceed the limit of ${MAX_LENGTH}`);
  const lines = new LineCounter();
  try {
    const documents = parseAllDocuments(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
      logLevel: 'silent',
    });
    const [document] = documents;
    if (document === undefined) return unusable('it is empty');
    if (documents.length > 1)
      return unusable(`it holds ${documents.length} YAML documents, but a kubeconfig has one`);
    const [broken] = document.errors;
    const error = broken === undefined ? duplicateKey(document) : { pos: broken.pos[0], code: broken.code };
    if (error !== null) {
      const { line, col } = lines.linePos(error.pos);
      // The parser message can quote the secret text. The code cannot.
      return unusable(`it is not YAML at line ${line}, column ${col} (${error.code})`);
    }
    // The JSON round trip turns nodes that aliases share into copies. It throws on a cycle, which is rejected.
    const content: unknown = JSON.parse(
      JSON.stringify(document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }) ?? null),
    );
    return isRecord(content)
      ? { kind: 'parsed', document: document as Document.Parsed, content }
      : unusable('it is YAML, but not a mapping');
  } catch {
    // A stack overflow in the parser, an unresolved alias, too many aliases, or a cycle.
    return unusable('its aliases or its nesting cannot be resolved');
  }
}

interface ServerNode {
  readonly range: readonly [start: number, end: number];
  readonly style: 'plain' | 'single' | 'double';
}

/** The scalar, or the alias in its place. Replacing an alias does not change its anchor. */
function serverNode(document: Document.Parsed, index: number): ServerNode | null {
  const follow = (node: unknown) => (isAlias(node) ? node.resolve(document) : node);
  const child = (node: unknown, key: string | number): unknown => {
    const parent = follow(node);
    return isMap(parent) || isSeq(parent) ? parent.get(key, true) : undefined;
  };
  const node = child(child(child(child(document.contents, 'clusters'), index), 'cluster'), 'server');
  if (isAlias(node) && node.range != null) return { range: [node.range[0], node.range[1]], style: 'plain' };
  if (!isScalar(node) || node.range == null) return null;
  const range = [node.range[0], node.range[1]] as const;
  switch (node.type) {
    case Scalar.PLAIN:
      return { range, style: 'plain' };
    case Scalar.QUOTE_SINGLE:
      return { range, style: 'single' };
    case Scalar.QUOTE_DOUBLE:
      return { range, style: 'double' };
    default:
      // A block scalar is unusual for a URL, and its end depends on the text after it.
      return null;
  }
}

/** Possible spellings, the current style first. The caller parses the result to find a spelling that is valid in that place. */
function spellings(server: string, style: ServerNode['style']): readonly string[] {
  const double = JSON.stringify(server);
  if (style === 'plain') return [server, double];
  return style === 'single' ? [`'${server.replaceAll("'", "''")}'`, double] : [double];
}

/** Whether `text` parses to `content` with only that server replaced. */
function changesOnlyServer(
  content: Record<string, unknown>,
  index: number,
  server: string,
  text: string,
): boolean {
  const read = parsed(text);
  if (read.kind === 'unusable') return false;
  const wanted = JSON.stringify(withServer(content, index, server));
  return JSON.stringify(read.content) === wanted;
}

function withServer(
  content: Record<string, unknown>,
  index: number,
  server: string,
): Record<string, unknown> {
  const clusters = (content.clusters as { cluster: object }[]).map((entry, i) =>
    i === index ? { ...entry, cluster: { ...entry.cluster, server } } : entry,
  );
  return { ...content, clusters };
}
