// Handles one request: user, target, access check, then the verb. All errors are thrown as ApiError and answered here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, methodNotAllowed, noSuchResource } from '../api-error.ts';
import type { Faults } from '../faults.ts';
import { integerOption, matcherOf, type ObjectReads, watchedRevision } from '../store/object-reads.ts';
import type { Entry, ObjectStore } from '../store/object-store.ts';
import type { ObjectWrites, PatchType, Target } from '../store/object-writes.ts';
import { apiVersionOf } from '../stored-object.ts';
import type { ResourceTable } from '../types/resource-table.ts';
import { type AccessControl, ANONYMOUS } from './access.ts';
import { reviewed } from './access-review.ts';
import { discoveryDocument, REVIEWS } from './discovery.ts';
import { applyFault } from './fault-answer.ts';
import { type Form, formOf, rendered, renderedItem } from './object-rendering.ts';
import { mediaTypeOf, parsedBody, readBody } from './request-body.ts';
import type { RequestCounts } from './request-counts.ts';
import { type ResourceRequest, requestInfo } from './request-info.ts';
import { deleteOptions, writeOptions } from './request-options.ts';
import { deletedStatus, sendJson, sendStatus, unknownPath } from './responses.ts';
import { tableOf } from './table-rendering.ts';
import { WatchStream } from './watch-stream.ts';

export interface RequestHandlerOptions {
  readonly store: ObjectStore;
  readonly table: ResourceTable;
  readonly reads: ObjectReads;
  readonly writes: ObjectWrites;
  readonly access: AccessControl;
  readonly faults: Faults;
  readonly watches: Set<WatchStream>;
  readonly counts: RequestCounts;
  readonly tokens: ReadonlyMap<string, string>;
  readonly bookmarkIntervalMs: number;
}

const PATCH_TYPES: ReadonlyMap<string, PatchType> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

/** Lists are written in portions: 20 000 slices would otherwise be one string of 24 MB. */
const ENTRIES_PER_WRITE = 500;

export class RequestHandler {
  readonly #options: RequestHandlerOptions;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#answer(request, response);
    } catch (error) {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      // Any other error is a bug in this fake. It looks like a panic of the real API server.
      const known =
        error instanceof ApiError
          ? error
          : new ApiError(500, 'InternalError', `Internal error occurred: ${(error as Error).message}`);
      sendStatus(response, known.status);
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, counts, faults } = this.#options;
    const user = this.#userOf(request);
    const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
    counts.add(user ?? ANONYMOUS, info);
    const fault = faults.answerTo(info, user ?? ANONYMOUS);
    if (fault !== null && !(await applyFault(fault, request, response))) return;
    if (user === null) throw new ApiError(401, 'Unauthorized', 'Unauthorized');
    access.require(user, info);
    if (info.kind === 'resource') await this.#resource(info, user, request, response);
    else this.#path(info.path, response);
  }

  /** null for an unknown token. */
  #userOf(request: IncomingMessage): string | null {
    const header = request.headers.authorization;
    if (header === undefined) return ANONYMOUS;
    const token = /^Bearer (.+)$/i.exec(header)?.[1];
    return token === undefined ? null : (this.#options.tokens.get(token) ?? null);
  }

  #path(path: string, response: ServerResponse): void {
    if (/^\/(healthz|livez|readyz)(\/|$)/.test(path)) {
      response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end('ok');
      return;
    }
    const document = discoveryDocument(this.#options.table, path);
    if (document === null) throw unknownPath();
    sendJson(response, 200, JSON.stringify(document));
  }

  async #resource(
    info: ResourceRequest,
    user: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { access, table } = this.#options;
    const review = REVIEWS.find((each) => each.group === info.group && each.plural === info.resource);
    if (review !== undefined && info.verb === 'create') {
      const answer = reviewed(
        access,
        review.kind,
        user,
        parsedBody(await readBody(request), mediaTypeOf(request)),
      );
      sendJson(response, 201, JSON.stringify(answer));
      return;
    }
    const found = table.find(info.group, info.version, info.resource);
    if (found === null || (info.namespace !== '' && !found.type.namespaced && info.resource !== 'namespaces'))
      throw unknownPath(
        table.groups().get(info.group)?.includes(info.version) === true &&
          table.ofResource(info.group, info.resource)?.custom !== true,
      );
    if (isMisplaced(info, found.type.namespaced)) throw methodNotAllowed();
    if (info.subresource !== '' && !(info.subresource === 'status' && found.api.hasStatus))
      throw noSuchResource();
    const form = formOf(request.headers.accept);
    if (form === null)
      throw new ApiError(
        406,
        'NotAcceptable',
        'only the following media types are accepted: application/json, application/yaml',
      );
    const namespace = found.type.namespaced ? info.namespace : '';
    const target: Target = {
      ...found,
      namespace,
      name: info.isNamed ? info.name : '',
      subresource: info.subresource,
    };
    switch (info.verb) {
      case 'get':
        this.#send(response, 200, target, this.#options.reads.get(target, info.query), form);
        break;
      case 'list':
        await this.#list(response, target, info, form);
        break;
      case 'watch':
        this.#watch(response, target, info, user, form === 'table' ? 'object' : form);
        break;
      default:
        await this.#write(request, response, target, info, user, form);
    }
  }

  async #write(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    info: ResourceRequest,
    user: string,
    form: Form | 'table',
  ): Promise<void> {
    const { writes, access } = this.#options;
    const mediaType = mediaTypeOf(request);
    const text = await readBody(request);
    const options = writeOptions(info.query, request);
    switch (info.verb) {
      case 'create':
      case 'update': {
        if (!/^application\/(json|yaml)$/.test(mediaType)) throw unsupportedMediaType(mediaType);
        const body = parsedBody(text, mediaType);
        const written =
          info.verb === 'create'
            ? writes.create(target, body, options)
            : writes.update(target, body, options);
        this.#send(response, written.created ? 201 : 200, target, written.entry, form, written.warnings);
        break;
      }
      case 'patch': {
        const patchType = PATCH_TYPES.get(mediaType);
        if (patchType === undefined || (patchType === 'strategic' && target.type.custom))
          throw unsupportedMediaType(mediaType);
        const force = info.query.get('force') === 'true';
        if (patchType === 'apply' && (info.query.get('fieldManager') ?? '') === '')
          throw new ApiError(
            422,
            'Invalid',
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
          );
        const { type, namespace, name } = target;
        // An apply that creates the object also needs the right to create.
        if (patchType === 'apply' && this.#options.store.get(type.key, namespace, name) === null)
          access.require(user, { ...info, verb: 'create' });
        const body = parsedBody(text, mediaType);
        const written = writes.patch(target, patchType, body, { ...options, force });
        this.#send(response, written.created ? 201 : 200, target, written.entry, form, written.warnings);
        break;
      }
      case 'delete': {
        const { entry, gone } = writes.delete(target, deleteOptions(info.query, parsedBody(text, mediaType)));
        if (!gone || target.type.returnsDeleted) this.#send(response, 200, target, entry, form);
        else sendStatus(response, deletedStatus(target, entry));
        break;
      }
      case 'deletecollection': {
        const all = target.type.namespaced && target.namespace === '' ? null : target.namespace;
        const chosen = deleteOptions(info.query, parsedBody(text, mediaType));
        const { entries } = this.#options.reads.list(target, all, info.query);
        for (const { namespace, name } of entries) writes.delete({ ...target, namespace, name }, chosen);
        await this.#sendList(
          response,
          target,
          entries,
          { resourceVersion: String(this.#options.store.revision) },
          form,
        );
        break;
      }
      default:
        throw methodNotAllowed();
    }
  }

  async #list(
    response: ServerResponse,
    target: Target,
    info: ResourceRequest,
    form: Form | 'table',
  ): Promise<void> {
    const namespace = target.type.namespaced && target.namespace === '' ? null : target.namespace;
    const page = this.#options.reads.list(target, namespace, info.query);
    const metadata = {
      resourceVersion: String(page.revision),
      ...(page.continueToken === '' ? {} : { continue: page.continueToken }),
      ...(page.remaining === null ? {} : { remainingItemCount: page.remaining }),
    };
    await this.#sendList(response, target, page.entries, metadata, form);
  }

  async #sendList(
    response: ServerResponse,
    target: Target,
    entries: readonly Entry[],
    metadata: object,
    form: Form | 'table',
  ): Promise<void> {
    if (form === 'table') {
      sendJson(response, 200, JSON.stringify(tableOf(target, entries, metadata)));
      return;
    }
    const head =
      form === 'metadata'
        ? { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' }
        : { kind: `${target.type.kind}List`, apiVersion: apiVersionOf(target.api) };
    // Renders all portions before the head is sent: a failed conversion must still become an error response. The JSON is cached.
    const portion = (start: number) =>
      entries
        .slice(start, start + ENTRIES_PER_WRITE)
        .map((entry) => renderedItem(entry, target, form))
        .join(',');
    const first = portion(0);
    for (let start = ENTRIES_PER_WRITE; start < entries.length; start += ENTRIES_PER_WRITE) portion(start);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
    const opening = JSON.stringify({ ...head, metadata }).slice(0, -1);
    response.write(`${opening},"items":[${first}`);
    for (let start = ENTRIES_PER_WRITE; start < entries.length; start += ENTRIES_PER_WRITE)
      response.write(`,${portion(start)}`);
    response.end(']}\n');
  }

  #watch(response: ServerResponse, target: Target, info: ResourceRequest, user: string, form: Form): void {
    const { store, watches, bookmarkIntervalMs } = this.#options;
    const { query } = info;
    const revision = watchedRevision(query);
    const sendInitial = query.get('sendInitialEvents');
    if (sendInitial === 'true' && query.get('resourceVersionMatch') !== 'NotOlderThan')
      throw new ApiError(
        422,
        'Invalid',
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      );
    const bookmarks = query.get('allowWatchBookmarks') === 'true';
    const initial = sendInitial === 'true' || (sendInitial === null && (revision ?? 0) === 0);
    const timeout = integerOption(query, 'timeoutSeconds');
    const watch = new WatchStream(
      { store, response },
      {
        request: info,
        user,
        target,
        form,
        namespace: target.type.namespaced && target.namespace === '' ? null : target.namespace,
        matches: matcherOf(target, query),
        since: initial || (revision ?? 0) === 0 ? null : revision,
        notOlderThan: initial ? (revision ?? 0) : 0,
        initialEvents: !initial ? 'none' : sendInitial === 'true' && bookmarks ? 'with-bookmark' : 'plain',
        bookmarks,
        bookmarkIntervalMs,
        timeoutMs: timeout > 0 ? timeout * 1000 : (1800 + Math.random() * 1800) * 1000,
      },
    );
    if (watch.closed) return;
    watches.add(watch);
    response.on('close', () => {
      watch.stop();
      watches.delete(watch);
    });
  }

  #send(
    response: ServerResponse,
    code: number,
    target: Target,
    entry: Entry,
    form: Form | 'table',
    warnings: readonly string[] = [],
  ): void {
    for (const warning of warnings) response.appendHeader('Warning', `299 - ${JSON.stringify(warning)}`);
    if (form === 'table')
      sendJson(
        response,
        code,
        JSON.stringify(tableOf(target, [entry], { resourceVersion: String(entry.revision) })),
      );
    else sendJson(response, code, rendered(entry, target, form));
  }
}

/** True for a missing name, for a create with a name, and for a write without a namespace. */
function isMisplaced({ verb, isNamed, namespace }: ResourceRequest, namespaced: boolean): boolean {
  const needsName = verb === 'update' || verb === 'patch';
  if (needsName ? !isNamed : verb === 'create' && isNamed) return true;
  const isWrite = needsName || verb === 'create' || verb === 'delete';
  return isWrite && namespaced && namespace === '';
}

const unsupportedMediaType = (mediaType: string): ApiError =>
  new ApiError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${[...PATCH_TYPES.keys()].join(', ')} (it was ${mediaType})`,
  );
