// Parses a kubeconfig and finds the entry in `clusters` that its current context uses. A kubeconfig is a secret: reasons contain only
// context names, cluster names and the position of an error. Pure.
import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { shownValue } from '../objects/shown-value.ts';
import { duplicateKey } from '../sources/duplicate-key.ts';
import { isRecord } from '../sources/manifest-fields.ts';

/** Cluster API writes 6 KB. The parser needs about 1 s for the worst text of this size, and 20 ms for a typical one. */
const MAX_LENGTH = 128 * 1024;
/** Counted by the yaml package: aliases times the nodes they expand to. */
const MAX_ALIAS_COUNT = 100;

export interface LocatedEntry {
  readonly kind: 'located';
  readonly document: Document.Parsed;
  /** The parsed text as plain data without shared references. */
  readonly content: Record<string, unknown>;
  /** Index of the entry in `clusters`. */
  readonly index: number;
  readonly cluster: string;
  readonly server: string;
  /** null: the entry has none, or an empty one. */
  readonly tlsServerName: string | null;
  readonly hasProxyUrl: boolean;
}

export interface UnusableKubeconfig {
  readonly kind: 'unusable';
  readonly reason: string;
}

export const unusable = (reason: string): UnusableKubeconfig => ({ kind: 'unusable', reason });

/** The entry in `clusters` that the current context uses. */
export function locatedEntry(text: string): LocatedEntry | UnusableKubeconfig {
  const read = parsedKubeconfig(text);
  if (read.kind === 'unusable') return read;
  const { document, content } = read;
  const named = currentCluster(content);
  if (named.kind === 'unusable') return named;
  const { cluster, index, fields } = named;
  const { server, 'tls-server-name': tlsServerName = null, 'proxy-url': proxyUrl = null } = fields;
  if (typeof server !== 'string' || server === '')
    return unusable(`its cluster ${shownValue(cluster)} has no server`);
  if (tlsServerName !== null && typeof tlsServerName !== 'string')
    return unusable(`the tls-server-name of its cluster ${shownValue(cluster)} is not text`);
  return {
    kind: 'located',
    document,
    content,
    index,
    cluster,
    server,
    tlsServerName: tlsServerName === '' ? null : tlsServerName,
    hasProxyUrl: proxyUrl !== null && proxyUrl !== '',
  };
}

interface NamedCluster {
  readonly kind: 'named';
  readonly cluster: string;
  /** Of its entry in `clusters`. */
  readonly index: number;
  readonly fields: Record<string, unknown>;
}

/** The only cluster that the only current context names. */
function currentCluster(content: Record<string, unknown>): NamedCluster | UnusableKubeconfig {
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
  const fields = isRecord(chosen.entry.cluster) ? chosen.entry.cluster : {};
  return { kind: 'named', cluster, index: chosen.index, fields };
}

const counted = (count: number, what: string): string =>
  count === 0 ? `it has no ${what}` : `it has ${count} ${what}s`;

function entriesNamed(list: unknown, name: string): { index: number; entry: Record<string, unknown> }[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index) =>
    isRecord(entry) && entry.name === name ? [{ index, entry }] : [],
  );
}

export interface ParsedKubeconfig {
  readonly kind: 'parsed';
  readonly document: Document.Parsed;
  readonly content: Record<string, unknown>;
}

export function parsedKubeconfig(text: string): ParsedKubeconfig | UnusableKubeconfig {
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
