// Parses the text of one manifest file into objects. Pure, except that it yields to the event loop between documents: the YAML parser
// reads about 1.4 MB/s.
import { Composer, type Document, LineCounter, Parser } from 'yaml';
import type { Problem } from '../objects/problem.ts';
import { shownValue } from '../objects/shown-value.ts';
import { isAdditionalListener } from './additional-listener.ts';
import { duplicateKey } from './duplicate-key.ts';
import { isMachine } from './machine.ts';
import { isRecord } from './manifest-fields.ts';
import { isOpenStackCluster } from './openstack-cluster-layout.ts';
import { eventLoopYielder } from './yield-to-event-loop.ts';

export interface FoundObject {
  readonly origin: string;
  readonly object: unknown;
}

export interface ManifestFile {
  /** All OpenStackClusters of the file in order, of any version, valid or not. Lists are unwrapped. */
  readonly clusters: readonly FoundObject[];
  readonly listeners: readonly FoundObject[];
  readonly machines: readonly FoundObject[];
  /**
   * Why parts of the text cannot be parsed. While there is an error, an object that is missing from this file does not count as deleted.
   */
  readonly errors: readonly Problem[];
  /** Objects of other kinds. */
  readonly skipped: readonly Problem[];
}

/** `kubectl get -o yaml` nests one level. The limit exists because YAML anchors could nest without end. */
const MAX_LIST_DEPTH = 4;
/** The yaml library counts aliases times their expanded size. Manifests have no aliases. A "billion laughs" attack has 10^9. */
const MAX_ALIAS_COUNT = 100;

export async function manifestFile(fileName: string, text: string): Promise<ManifestFile> {
  const clusters: FoundObject[] = [];
  const listeners: FoundObject[] = [];
  const machines: FoundObject[] = [];
  const skipped: Problem[] = [];

  const collect = (object: unknown, origin: string, depth: number) => {
    if (object === null || object === undefined) return;
    const items = listItems(object);
    if (items !== null && depth < MAX_LIST_DEPTH) {
      for (const [index, item] of items.entries()) collect(item, `${origin} item ${index + 1}`, depth + 1);
      return;
    }
    const { apiVersion, kind } = isRecord(object) ? object : {};
    if (isOpenStackCluster(apiVersion, kind)) clusters.push({ origin, object });
    else if (isAdditionalListener(apiVersion, kind)) listeners.push({ origin, object });
    else if (isMachine(apiVersion, kind)) machines.push({ origin, object });
    else skipped.push({ origin, reason: `${described(object)} is not supported: skipped` });
  };

  const { documents, errors } = fileName.endsWith('.json')
    ? jsonDocument(fileName, text)
    : await yamlDocuments(fileName, text);
  for (const { origin, object } of documents) collect(object, origin, 0);
  return { clusters, listeners, machines, errors, skipped };
}

interface Documents {
  readonly documents: readonly { readonly origin: string; readonly object: unknown }[];
  readonly errors: readonly Problem[];
}

function jsonDocument(fileName: string, text: string): Documents {
  if (text.trim() === '') return { documents: [], errors: [] };
  try {
    return { documents: [{ origin: fileName, object: JSON.parse(text) }], errors: [] };
  } catch (error) {
    return { documents: [], errors: [{ origin: fileName, reason: `not JSON: ${messageOf(error)}` }] };
  }
}

async function yamlDocuments(fileName: string, text: string): Promise<Documents> {
  const documents: { origin: string; object: unknown }[] = [];
  const errors: Problem[] = [];
  const lines = new LineCounter();
  let count = 0;
  const yieldIfDue = eventLoopYielder();
  try {
    const tokens = new Parser(lines.addNewLine).parse(text);
    for (const document of new Composer({ prettyErrors: false, uniqueKeys: false }).compose(tokens)) {
      count++;
      const origin = `${fileName} document ${count}`;
      const found = yamlObject(document, lines);
      if (found.kind === 'object') documents.push({ origin, object: found.object });
      else errors.push({ origin, reason: found.reason });
      await yieldIfDue();
    }
  } catch (error) {
    // Deep nesting can exhaust the stack of the parser.
    errors.push({ origin: fileName, reason: `not YAML: ${messageOf(error)}` });
  }
  if (count > 1) return { documents, errors };
  const named = <T>(only: T) => ({ ...only, origin: fileName });
  return { documents: documents.map(named), errors: errors.map(named) };
}

function yamlObject(
  document: Document.Parsed,
  lines: LineCounter,
): { kind: 'object'; object: unknown } | { kind: 'error'; reason: string } {
  const notYaml = ({ pos, message }: { readonly pos: number; readonly message: string }) => {
    const { line, col } = lines.linePos(pos);
    return { kind: 'error', reason: `not YAML at line ${line}, column ${col}: ${message}` } as const;
  };
  const [error] = document.errors;
  if (error !== undefined) return notYaml({ pos: error.pos[0], message: error.message });
  const duplicate = duplicateKey(document);
  if (duplicate !== null) return notYaml(duplicate);
  try {
    return { kind: 'object', object: document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }) };
  } catch (cause) {
    return { kind: 'error', reason: `not usable YAML: ${messageOf(cause)}` };
  }
}

function listItems(object: unknown): readonly unknown[] | null {
  if (Array.isArray(object)) return object;
  if (!isRecord(object) || typeof object.kind !== 'string' || !object.kind.endsWith('List')) return null;
  return Array.isArray(object.items) ? object.items : null;
}

function described(object: unknown): string {
  if (!isRecord(object)) return shownValue(object);
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  const name = typeof metadata.name === 'string' ? ` ${shownValue(metadata.name)}` : '';
  return typeof object.kind === 'string'
    ? `kind ${shownValue(object.kind)}${name}`
    : 'an object without a kind';
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
