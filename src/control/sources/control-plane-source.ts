// Reads the Machines of control planes from the Kubernetes API, for further ways to the API servers. The watch has a label selector, so
// it never reads the workers. A failed read keeps the last known machines and affects nothing else: clusters are served as without it.
import type { KubeClient } from '../../kube/kube-client.ts';
import type { KubeErrorCode } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { PersistentMap } from '../../kube/persistent-map.ts';
import { servedPath, servedVersion } from '../../kube/served-version.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import { isEqual } from '../../routing/changes.ts';
import { CONTROL_PLANE_LABEL } from '../objects/object-labels.ts';
import { ABSENT_RETRY_MS } from './listener-snapshot.ts';
import {
  isControlPlane,
  MACHINE_GROUP,
  MACHINE_VERSIONS,
  type MachineFacts,
  readMachine,
} from './machine.ts';

export interface ControlPlaneSourceOptions {
  readonly client: KubeClient;
  /** The namespace of the clusters; null means every namespace. */
  readonly namespace: string | null;
  /** Requests a turn of the control loop. */
  readonly onChange: () => void;
}

const OUTAGES: ReadonlySet<KubeErrorCode> = new Set(['unreachable', 'timeout', 'gone', 'too-many-requests']);
/** Many sites do not grant this right. Each attempt costs three requests. */
const FORBIDDEN_RETRY_MS = 300_000;
/** After this time a cluster without a backend counts as down, although its Machines could not be read. */
const MAX_UNKNOWN_MS = 60_000;
const MACHINES = { group: MACHINE_GROUP, resource: 'machines', known: MACHINE_VERSIONS };

export class ControlPlaneSource {
  readonly #reflector: Reflector<MachineFacts>;
  #items: PersistentMap<MachineFacts> | null = null;
  #machines: readonly MachineFacts[] = Object.freeze([]);
  #isAbsent = false;
  readonly #startedAtMs = performance.now();

  constructor({ client, namespace, onChange }: ControlPlaneSourceOptions) {
    this.#reflector = new Reflector<MachineFacts>({
      client,
      labelSelector: CONTROL_PLANE_LABEL,
      path: async () => {
        const found = await servedVersion({ client, ...MACHINES });
        this.#isAbsent = found.kind === 'not-installed';
        return servedPath(found, MACHINES, namespace);
      },
      project: controlPlaneMachine,
      // Controllers write to a Machine often, but rarely change the facts in its projection.
      equal: isEqual,
      onChange,
      maxAbsentBackoffMs: ABSENT_RETRY_MS,
      maxForbiddenBackoffMs: FORBIDDEN_RETRY_MS,
    });
  }

  start(): void {
    this.#reflector.start();
  }

  /** Resolves after the first list succeeded or failed. A start waits for it: some clusters are reachable only by their machines. */
  ready(): Promise<void> {
    return this.#reflector.ready();
  }

  /** Returns the same reference while nothing changes. */
  snapshot(): readonly MachineFacts[] {
    const { items } = this.#reflector.snapshot();
    if (items !== this.#items) {
      this.#items = items;
      this.#machines = Object.freeze([...items.values()].filter(isControlPlane));
    }
    return this.#machines;
  }

  /**
   * False: the Machines were not listed yet, but may be soon. A cluster that is reachable only by them is not down then. After
   * a minute the answer is true in any case: an instance that never reads them must withdraw clusters that it does not reach.
   */
  isKnown(): boolean {
    const { synced, problem } = this.#reflector.snapshot();
    const isRefused = this.#isAbsent || problem?.code === 'forbidden';
    return synced || isRefused || performance.now() - this.#startedAtMs > MAX_UNKNOWN_MS;
  }

  /**
   * Why this user cannot read the machines; null if the user can, if Cluster API is not installed, or if the API is unreachable, which the
   * watch of clusters reports.
   */
  get problem(): string | null {
    const { problem } = this.#reflector.snapshot();
    return this.#isAbsent || problem === null || OUTAGES.has(problem.code) ? null : problem.message;
  }

  stop(): Promise<void> {
    return this.#reflector.stop();
  }
}

const ONLY_LABEL = Object.freeze({ [CONTROL_PLANE_LABEL]: '' });

/** Keeps one label: the others are not used here, and their edits would cause turns of the control loop. */
function controlPlaneMachine(object: KubeObject): MachineFacts {
  const machine = readMachine(object);
  return Object.freeze({ ...machine, labels: isControlPlane(machine) ? ONLY_LABEL : {} });
}
