// Reads and replaces the `server` and the `tls-server-name` of the entry that the current context of a kubeconfig uses. It changes only
// these two, and every other byte stays. Before it returns the result, it parses it again and compares. Pure.
import { isDeepStrictEqual } from 'node:util';
import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, Scalar, type YAMLMap } from 'yaml';
import type { KubeconfigTarget } from '../objects/observed-objects.ts';
import { shownValue } from '../objects/shown-value.ts';
import {
  type LocatedEntry,
  locatedEntry,
  parsedKubeconfig,
  type UnusableKubeconfig,
  unusable,
} from './kubeconfig-entry.ts';

export type KubeconfigEntry =
  | (KubeconfigTarget & {
      readonly kind: 'found';
      /** The name of the entry. */
      readonly cluster: string;
      /** Clients reach the server through another proxy. */
      readonly hasProxyUrl: boolean;
    })
  | UnusableKubeconfig;

export type KubeconfigChange =
  | { readonly kind: 'changed'; readonly text: string }
  | { readonly kind: 'unchanged' }
  | UnusableKubeconfig;

/** A replaced part of the text. */
interface Edit {
  readonly range: readonly [start: number, end: number];
  readonly text: string;
}

const TLS_SERVER_NAME = 'tls-server-name';

/** `text` must be decoded from UTF-8 with its byte order mark. Otherwise a later write would drop the byte order mark. */
export function kubeconfigEntry(text: string): KubeconfigEntry {
  const found = locatedEntry(text);
  if (found.kind === 'unusable') return found;
  const { server, tlsServerName, cluster, hasProxyUrl } = found;
  return { kind: 'found', server, tlsServerName, cluster, hasProxyUrl };
}

export function withKubeconfigEntry(text: string, target: KubeconfigTarget): KubeconfigChange {
  const found = locatedEntry(text);
  if (found.kind === 'unusable') return found;
  if (found.server === target.server && found.tlsServerName === target.tlsServerName)
    return { kind: 'unchanged' };
  const servers = serverEdits(found, target.server);
  if (servers === null) return unusable('its server is in a YAML form that cannot be replaced in place');
  const wanted = withEntry(found, target);
  for (const server of servers) {
    for (const name of tlsNameEdits(found, text, target.tlsServerName)) {
      const changed = edited(text, [...server, ...name]);
      const read = parsedKubeconfig(changed);
      // Parsed YAML can have a field `__proto__`. `isEqual` of src/routing would take an empty one for an absent one.
      if (read.kind === 'parsed' && isDeepStrictEqual(read.content, wanted))
        return { kind: 'changed', text: changed };
    }
  }
  return unusable(
    `its server cannot be replaced without another change: another part of the kubeconfig ` +
      `shares it, or the cluster ${shownValue(found.cluster)}, by an anchor`,
  );
}

/** Possible edits that set the server, the current spelling first; null: it cannot be replaced. */
function serverEdits(found: LocatedEntry, server: string): readonly (readonly Edit[])[] | null {
  if (found.server === server) return [[]];
  const place = scalarPlace(follow(found.document, clusterNode(found), 'server'));
  if (place === null) return null;
  return spellings(server, place.style).map((text) => [{ range: place.range, text }]);
}

/** Possible edits that set or remove the `tls-server-name`. The caller parses each result. */
function tlsNameEdits(found: LocatedEntry, text: string, name: string | null): readonly (readonly Edit[])[] {
  if (found.tlsServerName === name) return [[]];
  const map = resolved(found.document, clusterNode(found));
  if (!isMap(map)) return [];
  const places = map.items.map((pair) => pairPlace(pair));
  const at = map.items.findIndex(({ key }) => keyText(key) === TLS_SERVER_NAME);
  if (at < 0) return name === null ? [] : inserted(map, places, text, name);
  if (name === null) return removed(places, at, text);
  const place = scalarPlace(map.items[at]?.value);
  if (place === null) return [];
  return spellings(name, place.style).map((spelling) => [{ range: place.range, text: spelling }]);
}

type Place = Edit['range'] | null;

/** Directly before the server, so that a removal gives the earlier text back. */
function inserted(
  map: YAMLMap,
  places: readonly Place[],
  text: string,
  name: string,
): readonly (readonly Edit[])[] {
  const place = places[map.items.findIndex(({ key }) => keyText(key) === 'server')];
  if (place == null) return [];
  const [start] = place;
  const indent = ownLineIndent(text, start);
  const newLine = text.includes('\r\n') ? '\r\n' : '\n';
  const insert = (pair: string): Edit[] => [{ range: [start, start], text: pair }];
  if (map.flow === true) {
    const separator = indent === null ? ' ' : `${newLine}${indent}`;
    return [insert(`"${TLS_SERVER_NAME}": ${JSON.stringify(name)},${separator}`)];
  }
  if (indent === null) return [];
  return spellings(name, 'plain').map((value) => insert(`${TLS_SERVER_NAME}: ${value}${newLine}${indent}`));
}

/** The whole line of a block mapping; in a flow mapping, the pair and one comma. */
function removed(places: readonly Place[], at: number, text: string): readonly (readonly Edit[])[] {
  const place = places[at];
  if (place == null) return [];
  const [start, end] = place;
  const variants: Edit['range'][] = [];
  const line = ownLine(text, start, end);
  if (line !== null) variants.push(line);
  const next = places[at + 1];
  if (next != null) variants.push([start, next[0]]);
  const before = places[at - 1];
  if (before != null) variants.push([before[1], end]);
  return variants.map((range) => [{ range, text: '' }]);
}

/** The spaces before `at`; null if the line has other text there. */
function ownLineIndent(text: string, at: number): string | null {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1;
  const indent = text.slice(lineStart, at);
  return /^ *$/.test(indent) ? indent : null;
}

/** The line of `start` and `end` with its line break; null if it has other text. */
function ownLine(text: string, start: number, end: number): Edit['range'] | null {
  const indent = ownLineIndent(text, start);
  const lineEnd = text.indexOf('\n', end) + 1;
  if (indent === null || lineEnd === 0 || text.slice(end, lineEnd).trim() !== '') return null;
  return [start - indent.length, lineEnd];
}

function edited(text: string, edits: readonly Edit[]): string {
  let result = text;
  for (const { range, text: part } of [...edits].sort((a, b) => b.range[0] - a.range[0]))
    result = `${result.slice(0, range[0])}${part}${result.slice(range[1])}`;
  return result;
}

const keyText = (key: unknown): unknown => (isScalar(key) ? key.value : undefined);

/** From its key to the end of its value. */
function pairPlace({ key, value }: Pair): Place {
  const [start, end] = [rangeOf(key)?.[0], rangeOf(value)?.[1]];
  return start === undefined || end === undefined ? null : [start, end];
}

const rangeOf = (node: unknown): readonly number[] | undefined =>
  (node as { range?: readonly number[] | null } | null)?.range ?? undefined;

const resolved = (document: Document.Parsed, node: unknown): unknown =>
  isAlias(node) ? node.resolve(document) : node;

function follow(document: Document.Parsed, node: unknown, key: string | number): unknown {
  const parent = resolved(document, node);
  return isMap(parent) || isSeq(parent) ? parent.get(key, true) : undefined;
}

const clusterNode = ({ document, index }: LocatedEntry): unknown =>
  follow(document, follow(document, follow(document, document.contents, 'clusters'), index), 'cluster');

interface ScalarPlace {
  readonly range: readonly [start: number, end: number];
  readonly style: 'plain' | 'single' | 'double';
}

/** The scalar, or the alias in its place. Replacing an alias does not change its anchor. */
function scalarPlace(node: unknown): ScalarPlace | null {
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

/** Clients that read YAML 1.1 take these words for booleans. */
const YAML_1_1_BOOLEAN = /^(?:y|n|yes|no|on|off)$/i;

/** Possible spellings, the current style first. The caller parses the result to find a spelling that is valid in that place. */
function spellings(value: string, style: ScalarPlace['style']): readonly string[] {
  const double = JSON.stringify(value);
  if (style === 'plain') return YAML_1_1_BOOLEAN.test(value) ? [double] : [value, double];
  return style === 'single' ? [`'${value.replaceAll("'", "''")}'`, double] : [double];
}

/** The content with only these two fields changed. */
function withEntry({ content, index, tlsServerName }: LocatedEntry, target: KubeconfigTarget): object {
  const clusters = (content.clusters as { cluster: Record<string, unknown> }[]).map((entry, i) => {
    if (i !== index) return entry;
    const cluster: Record<string, unknown> = { ...entry.cluster, server: target.server };
    if (target.tlsServerName !== null) cluster[TLS_SERVER_NAME] = target.tlsServerName;
    else if (tlsServerName !== null) delete cluster[TLS_SERVER_NAME];
    return { ...entry, cluster };
  });
  return { ...content, clusters };
}
