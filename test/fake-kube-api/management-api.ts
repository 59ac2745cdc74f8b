// The in-memory management API: a Kubernetes API over HTTPS, in memory, for the demo and for fast tests. The suite in test/kube-api
// compares it with a real kube-apiserver. All its data is lost when the process ends.
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Faults } from './faults.ts';
import { type Access, AccessControl } from './http/access.ts';
import { RequestCounts } from './http/request-counts.ts';
import { RequestHandler } from './http/request-handler.ts';
import type { WatchStream } from './http/watch-stream.ts';
import { followDefinitions } from './store/definition-controller.ts';
import { GarbageCollector } from './store/garbage-collector.ts';
import { ObjectReads } from './store/object-reads.ts';
import { type Entry, ObjectStore, type Snapshot } from './store/object-store.ts';
import { ObjectWrites, type PatchType, type Target } from './store/object-writes.ts';
import { apiVersionOf, copyOf, groupVersionOf, type StoredObject } from './stored-object.ts';
import type { Conversion } from './types/custom-types.ts';
import { CRD_RESOURCE, ResourceTable } from './types/resource-table.ts';

export interface ManagementApiOptions {
  readonly host?: string;
  readonly port?: number;
  readonly tls: {
    readonly key: Buffer | string;
    readonly cert: Buffer | string;
    readonly ca: Buffer | string;
  };
  /** The user of each token. */
  readonly tokens: ReadonlyMap<string, string>;
  /** A user without an entry may do everything. */
  readonly access?: ReadonlyMap<string, Access>;
  readonly namespaces?: readonly string[];
  /** CustomResourceDefinitions to create at the start. */
  readonly definitions?: readonly StoredObject[];
  /** By name of the definition. Each replaces a conversion webhook. */
  readonly conversions?: ReadonlyMap<string, Conversion>;
  /** Delete the dependents of deleted objects, as kube-controller-manager does. */
  readonly garbageCollection?: boolean;
  readonly historyLimit?: number;
  readonly bookmarkIntervalMs?: number;
  readonly now?: () => Date;
}

/** Direct access for the admin, with the same rules as over HTTPS. `apiVersion` and `kind` select the resource. */
export interface AdminStore {
  readonly revision: number;
  create(object: object): StoredObject;
  /** Replaces the object. Without a resourceVersion it replaces any version. */
  update(object: object, subresource?: '' | 'status'): StoredObject;
  /** A merge patch. */
  patch(ref: ObjectRef, patch: object, subresource?: '' | 'status'): StoredObject;
  delete(ref: ObjectRef): void;
  get(ref: ObjectRef): StoredObject | null;
  list(of: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
  }): StoredObject[];
  /** Calls `listener` after each change by any user, before the next change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
}

export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface ManagementApi {
  readonly url: string;
  readonly port: number;
  readonly store: AdminStore;
  readonly faults: Faults;
  readonly access: AccessControl;
  /** Tests may change it at run time: deleting a token makes it expire. */
  readonly tokens: Map<string, string>;
  readonly garbageCollector: GarbageCollector;
  /** The number of open watches. */
  readonly openWatches: number;
  requests(user?: string): Record<string, number>;
  kubeconfig(user?: string): string;
  snapshot(): Snapshot;
  /** Restores an older state, as a restore of etcd does: the resource versions go back too. Ends every connection. */
  restore(snapshot: Snapshot): void;
  /** Refuses connections until `start`. Keeps the objects, but not the history of changes. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const FIRST_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export async function startManagementApi(options: ManagementApiOptions): Promise<ManagementApi> {
  const now = options.now ?? (() => new Date());
  const store = new ObjectStore({ historyLimit: options.historyLimit ?? 10_000 });
  const table = new ResourceTable({ conversions: options.conversions ?? new Map() });
  const writes = new ObjectWrites({ store, now });
  const reads = new ObjectReads({ store });
  const watches = new Set<WatchStream>();
  const faults = new Faults({ watches });
  const access = new AccessControl(options.access ?? new Map());
  const counts = new RequestCounts();
  const tokens = new Map(options.tokens);
  followDefinitions({ store, table, writes, watches, now });
  const garbageCollector = new GarbageCollector({ store, writes, table });
  if (options.garbageCollection === true) garbageCollector.enable();
  const admin = adminStore({ store, table, writes });
  for (const name of [...FIRST_NAMESPACES, ...(options.namespaces ?? [])])
    admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const definition of options.definitions ?? []) admin.create(definition);

  const handler = new RequestHandler({
    store,
    table,
    reads,
    writes,
    access,
    faults,
    watches,
    counts,
    tokens,
    bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
  });
  const { host = '127.0.0.1', tls } = options;
  let server: Server | null = null;
  const sockets = new Set<Socket>();
  let port = options.port ?? 0;
  const start = async () => {
    if (server !== null) return;
    const made = createServer({ key: tls.key, cert: tls.cert }, (request, response) => {
      void handler.handle(request, response);
    });
    made.on('tlsClientError', () => {}); // a client that does not trust this certificate, or was killed
    made.requestTimeout = 0;
    // Tracks all sockets. A socket in its TLS handshake is not a connection of the server yet and would keep it open forever.
    made.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      made.once('error', reject);
      made.listen(port, host, () => resolve());
    });
    server = made;
    port = (made.address() as AddressInfo).port;
  };
  const stop = async () => {
    const stopping = server;
    server = null;
    if (stopping === null) return;
    for (const watch of [...watches]) watch.cut();
    await new Promise<void>((resolve) => {
      stopping.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
    store.forgetHistory();
  };
  await start();
  const url = () => `https://${host.includes(':') ? `[${host}]` : host}:${port}`;

  return {
    get url() {
      return url();
    },
    get port() {
      return port;
    },
    get openWatches() {
      return watches.size;
    },
    store: admin,
    faults,
    access,
    tokens,
    garbageCollector,
    requests: (user) => counts.read(user),
    kubeconfig: (user) => kubeconfig(url(), tls.ca, tokens, user),
    snapshot: () => store.snapshot(),
    restore(snapshot) {
      for (const watch of [...watches]) watch.cut();
      server?.closeAllConnections();
      store.restore(snapshot);
      table.reinstall(store.list(CRD_RESOURCE, null).map(({ object }) => object));
    },
    stop,
    start,
    close: stop,
  };
}

function adminStore(parts: {
  readonly store: ObjectStore;
  readonly table: ResourceTable;
  readonly writes: ObjectWrites;
}): AdminStore {
  const { store, table, writes } = parts;
  const options = { manager: 'admin', dryRun: false, fieldValidation: 'Ignore' } as const;
  const targetOf = ({ apiVersion, kind, namespace, name }: Partial<ObjectRef>, subresource = ''): Target => {
    const found = table.ofKind(groupVersionOf(apiVersion ?? ''), kind ?? '');
    if (found === null) throw new Error(`no kind ${kind} in ${apiVersion} is served`);
    const scope = found.type.namespaced ? (namespace ?? 'default') : '';
    return { ...found, namespace: scope, name: name ?? '', subresource };
  };
  const targetOfObject = (object: object, subresource = ''): Target => {
    const { apiVersion, kind, metadata = {} } = object as Partial<StoredObject>;
    return targetOf(
      {
        apiVersion: apiVersion ?? '',
        kind: kind ?? '',
        name: metadata.name ?? '',
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      },
      subresource,
    );
  };
  const shown = ({ type, api }: Target, entry: Entry): StoredObject =>
    copyOf(type.convert(entry.object, api));
  const patch = (ref: ObjectRef, type: PatchType, body: object, subresource: string): StoredObject => {
    const target = targetOf(ref, subresource);
    return shown(target, writes.patch(target, type, body, { ...options, force: true }).entry);
  };
  return {
    get revision() {
      return store.revision;
    },
    create(object) {
      const target = targetOfObject(object);
      const created = writes.create(target, object, options).entry;
      // An admin can restore an object together with its status. Over HTTPS this takes two writes.
      const { status } = object as Partial<StoredObject>;
      if (status === undefined || !target.api.hasStatus) return shown(target, created);
      const ref = {
        apiVersion: apiVersionOf(target.api),
        kind: target.type.kind,
        namespace: created.namespace,
        name: created.name,
      };
      return patch(ref, 'merge', { status }, 'status');
    },
    update(object, subresource = '') {
      const target = targetOfObject(object, subresource);
      const body = copyOf(object) as StoredObject;
      const { name, namespace } = target;
      body.metadata.resourceVersion ??=
        store.get(target.type.key, namespace, name)?.object.metadata.resourceVersion ?? '';
      return shown(target, writes.update(target, body, options).entry);
    },
    patch: (ref, body, subresource = '') => patch(ref, 'merge', body, subresource),
    delete(ref) {
      writes.delete(targetOf(ref), { dryRun: false });
    },
    get(ref) {
      const target = targetOf(ref);
      const entry = store.get(target.type.key, target.namespace, target.name);
      return entry === null ? null : shown(target, entry);
    },
    list(of) {
      const target = targetOf(of);
      return store.list(target.type.key, of.namespace ?? null).map((entry) => shown(target, entry));
    },
    subscribe: (listener) => store.subscribeAll(() => listener()),
  };
}

function kubeconfig(
  url: string,
  ca: Buffer | string,
  tokens: ReadonlyMap<string, string>,
  user?: string,
): string {
  const found = [...tokens].find(([, name]) => user === undefined || name === user);
  if (found === undefined) throw new Error(`user ${user} has no token`);
  const [token, name] = found;
  return `apiVersion: v1
kind: Config
clusters:
- name: management
  cluster:
    server: ${url}
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
users:
- name: ${name}
  user:
    token: ${token}
contexts:
- name: management
  context:
    cluster: management
    user: ${name}
    namespace: magnum-system
current-context: management
`;
}
