// Watches the labels of the Node that this instance runs on. Reads only the metadata of that one Node.
import { resourcePath } from '../../kube/api-path.ts';
import type { KubeClient } from '../../kube/kube-client.ts';
import type { Labels } from '../../kube/labels/label-requirement.ts';
import { isDnsSubdomain } from '../../kube/labels/label-syntax.ts';
import type { NodeSelector } from '../../kube/labels/node-selector.ts';
import { Reflector } from '../../kube/watch/reflector.ts';
import type { Problem } from '../objects/problem.ts';
import {
  EVERY_NODE,
  type NodeObservation,
  type Participation,
  participation,
  type UnknownNode,
} from './node-participation.ts';

export interface NodeWatchOptions {
  readonly client: KubeClient;
  /** Name of the Kubernetes Node. */
  readonly node: string;
  /** null: every node takes part, and the Node is not watched. */
  readonly selector: NodeSelector | null;
  readonly unknown: UnknownNode;
  /** Called when the participation is first known, and when it changes. Never called if every node takes part. */
  readonly onParticipation: (participation: Participation) => void;
  readonly onChange: () => void;
}

export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #reflector: Reflector<Labels> | null;
  #reported: boolean | null = null;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    const { client, node, selector } = options;
    const path = resourcePath({ group: '', version: 'v1', resource: 'nodes' });
    // A name that is not a valid Node name cannot be watched.
    this.#reflector =
      selector === null || !isDnsSubdomain(node)
        ? null
        : new Reflector<Labels>({
            client,
            path: () => path,
            fieldSelector: `metadata.name=${node}`,
            metadataOnly: true,
            project: ({ metadata }) => metadata.labels ?? {},
            // The kubelet updates its Node all the time, but rarely its labels.
            equal: sameLabels,
            onChange: () => this.#changed(),
          });
  }

  async start(): Promise<void> {
    this.#reflector?.start();
    await this.#reflector?.ready();
    this.#changed();
  }

  async stop(): Promise<void> {
    await this.#reflector?.stop();
  }

  /** null until the Node was read once. */
  participation(): Participation | null {
    const { node, selector, unknown } = this.#options;
    return selector === null ? EVERY_NODE : participation(node, selector, unknown, this.#observation());
  }

  problems(): readonly Problem[] {
    const guess = this.participation()?.problem ?? null;
    if (guess !== null) return [{ origin: '--node-selector', reason: guess }];
    const { problem = null } = this.#reflector?.snapshot() ?? {};
    return problem === null ? [] : [{ origin: 'watch of nodes', reason: problem.message }];
  }

  #changed(): void {
    const now = this.participation();
    if (now !== null && now !== EVERY_NODE && now.takesPart !== this.#reported) {
      this.#reported = now.takesPart;
      this.#options.onParticipation(now);
    }
    this.#options.onChange();
  }

  #observation(): NodeObservation {
    if (this.#reflector === null) return { kind: 'absent' };
    const { synced, items, problem } = this.#reflector.snapshot();
    const labels = items.get(this.#options.node);
    // The last known labels stay valid while the API is unreachable.
    if (labels !== undefined) return { kind: 'seen', labels };
    if (synced) return { kind: 'absent' };
    return problem === null ? { kind: 'not-yet' } : { kind: 'unreadable', why: problem.message };
  }
}

function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key])
  );
}
