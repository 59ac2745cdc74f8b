// Reads AdditionalListeners and the Machines that they select from the Kubernetes API. Machines are watched only while a listener exists.
// If the CustomResourceDefinition is not installed, there are no listeners. Any other read failure is reported, keeps the last known
// state, and affects only listeners.

import type { KubeClient } from '../../kube/kube-client.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { servedPath, servedVersion } from '../../kube/served-version.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { ReflectorSnapshot } from '../../kube/watch/reflector-snapshot.ts';
import { isEqual } from '../../routing/changes.ts';
import type { Problem } from '../objects/problem.ts';
import { byText } from '../objects/text-order.ts';
import {
  LISTENER_GROUP,
  LISTENER_KIND,
  LISTENER_VERSIONS,
  type ListenerReading,
  type ListenerReadingSettings,
  readAdditionalListener,
} from './additional-listener.ts';
import { ABSENT_RETRY_MS, type ListenerSnapshot, NO_LISTENERS } from './listener-snapshot.ts';
import { MACHINE_GROUP, MACHINE_VERSIONS, type MachineFacts, readMachine } from './machine.ts';

export interface ListenerSourceOptions {
  readonly client: KubeClient;
  /** The namespace of clusters, machines and listeners; null means every namespace. */
  readonly namespace: string | null;
  readonly settings: ListenerReadingSettings;
  /** Requests a turn of the control loop. */
  readonly onChange: () => void;
  /** Monotonic clock. */
  readonly now?: () => number;
}

const LISTENERS = 'additionallisteners';
const MACHINES = 'machines';
/**
 * The first change is reported at once. Changes within this time after a report are reported together: a client may write a hundred
 * labels a second.
 */
const REPORT_INTERVAL_MS = 50;
/**
 * How long a definition must be absent until listeners without a deletion event count as deleted. A server that has just
 * started may not serve its definitions yet.
 */
const CONFIRMED_ABSENT_MS = 2 * ABSENT_RETRY_MS;

interface Followed<T> {
  readonly reflector: Reflector<T>;
  /** Since when the server reports the resource as not installed (monotonic); null if it is served or not yet known. */
  absentSinceMs: number | null;
}

export class ListenerSource {
  readonly #options: ListenerSourceOptions;
  readonly #now: () => number;
  #listeners: Followed<ListenerReading>;
  #machines: Followed<MachineFacts> | null = null;
  #listenersSeen: ReflectorSnapshot<ListenerReading> | null = null;
  #machinesSeen: ReflectorSnapshot<MachineFacts> | null = null;
  #snapshot: ListenerSnapshot = NO_LISTENERS;
  #stopping: Promise<void>[] = [];
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #reportTimer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: ListenerSourceOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#listeners = this.#followedListeners();
  }

  /** Resolves after the first list of listeners succeeded or failed. */
  async start(): Promise<void> {
    this.#listeners.reflector.start();
    await this.#listeners.reflector.ready();
  }

  /** Returns the same reference while nothing changes. */
  snapshot(): ListenerSnapshot {
    const listeners = this.#listeners.reflector.snapshot();
    const machines = this.#machines?.reflector.snapshot() ?? null;
    if (listeners !== this.#listenersSeen || machines !== this.#machinesSeen) {
      this.#listenersSeen = listeners;
      this.#machinesSeen = machines;
      this.#snapshot = this.#newSnapshot(listeners, machines);
    }
    return this.#snapshot;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#reportTimer !== null) clearTimeout(this.#reportTimer);
    await Promise.all([
      this.#listeners.reflector.stop(),
      this.#machines?.reflector.stop(),
      ...this.#stopping,
    ]);
  }

  #followedListeners(): Followed<ListenerReading> {
    return this.#followed(LISTENER_GROUP, LISTENERS, LISTENER_VERSIONS, {
      project: (object: KubeObject, version: string) => {
        const { namespace = '', name } = object.metadata;
        const whole = { ...object, apiVersion: object.apiVersion ?? `${LISTENER_GROUP}/${version}` };
        return readAdditionalListener(whole, `${LISTENER_KIND} ${namespace}/${name}`, this.#options.settings);
      },
      onChange: () => {
        this.#followMachines();
        this.#changed();
      },
      onAbsent: () => this.#restart(),
    });
  }

  /**
   * The definition was removed at run time: start again, as if it had never been installed. This happens at once if every listener had
   * its deletion event, otherwise after the definition was absent for CONFIRMED_ABSENT_MS.
   */
  #restart(): void {
    const { reflector, absentSinceMs } = this.#listeners;
    const { synced, items } = reflector.snapshot();
    if (this.#stopped || !synced || absentSinceMs === null) return;
    if (items.size > 0 && this.#now() - absentSinceMs < CONFIRMED_ABSENT_MS) return;
    this.#listeners = this.#followedListeners();
    this.#listeners.absentSinceMs = absentSinceMs;
    this.#stopLater(reflector);
    this.#listeners.reflector.start();
    this.#followMachines();
    this.#changed();
  }

  /** Keeps the promise until the reflector has stopped, because `stop` waits for it. */
  #stopLater(reflector: { stop(): Promise<void> }): void {
    const stopped = reflector.stop().then(() => {
      this.#stopping = this.#stopping.filter((each) => each !== stopped);
    });
    this.#stopping.push(stopped);
  }

  #followMachines(): void {
    const isWanted = this.#listeners.reflector.snapshot().items.size > 0;
    if (this.#stopped || isWanted === (this.#machines !== null)) return;
    if (this.#machines !== null) {
      this.#stopLater(this.#machines.reflector);
      this.#machines = null;
      return;
    }
    this.#machines = this.#followed(MACHINE_GROUP, MACHINES, MACHINE_VERSIONS, {
      project: readMachine,
      onChange: () => this.#changed(),
    });
    this.#machines.reflector.start();
  }

  #changed(): void {
    if (this.#reportTimer !== null || this.#stopped) return;
    const waitMs = this.#reportedAtMs + REPORT_INTERVAL_MS - performance.now();
    const report = () => {
      this.#reportTimer = null;
      this.#reportedAtMs = performance.now();
      this.#options.onChange();
    };
    if (waitMs <= 0) report();
    else this.#reportTimer = setTimeout(report, waitMs);
  }

  #followed<T>(
    group: string,
    resource: string,
    known: readonly string[],
    how: {
      readonly project: (object: KubeObject, version: string) => T;
      readonly onChange: () => void;
      readonly onAbsent?: () => void;
    },
  ): Followed<T> {
    const { client, namespace } = this.#options;
    let version = known[0] ?? '';
    const followed: Followed<T> = {
      absentSinceMs: null,
      reflector: new Reflector<T>({
        client,
        path: async () => {
          const found = await servedVersion({ client, group, resource, known });
          followed.absentSinceMs =
            found.kind === 'not-installed' ? (followed.absentSinceMs ?? this.#now()) : null;
          if (followed.absentSinceMs !== null) how.onAbsent?.();
          if (found.kind === 'served') version = found.version;
          return servedPath(found, { group, resource, known }, namespace);
        },
        project: (object) => how.project(object, version),
        // Controllers write to a Machine often, but rarely change the facts in its projection.
        equal: isEqual,
        onChange: how.onChange,
        maxAbsentBackoffMs: ABSENT_RETRY_MS,
      }),
    };
    return followed;
  }

  #newSnapshot(
    listeners: ReflectorSnapshot<ListenerReading>,
    machines: ReflectorSnapshot<MachineFacts> | null,
  ): ListenerSnapshot {
    // While the server reports the kind as absent, no object of it exists. A listener without a deletion event is still in `items`.
    const isAbsent = this.#listeners.absentSinceMs !== null;
    const problems: Problem[] = [...listeners.rejected, ...(machines?.rejected ?? [])].map(
      ([key, reason]) => ({ origin: key, reason }),
    );
    if (listeners.problem !== null && (!isAbsent || listeners.synced))
      problems.push({ origin: `watch of ${LISTENERS}`, reason: listeners.problem.message });
    const machinesProblem = machines?.problem?.message ?? null;
    if (machinesProblem !== null) problems.push({ origin: `watch of ${MACHINES}`, reason: machinesProblem });
    return Object.freeze({
      complete:
        isAbsent || (listeners.synced && listeners.staleSinceMs === null && listeners.rejected.size === 0),
      kindAbsent: isAbsent,
      listeners: Object.freeze([...listeners.items.values()].sort((a, b) => byText(a.key, b.key))),
      machines: Object.freeze([...(machines?.items.values() ?? [])]),
      machinesKnown: machines?.synced ?? false,
      machinesProblem,
      problems: Object.freeze(problems),
    });
  }
}
