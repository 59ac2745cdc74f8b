// A release of the chart on the nodes: Helm, the DaemonSet as the API server shows it, its Pods, and commands inside them.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { componentCommand } from '../e2e/component.ts';
import { NAMESPACE } from '../e2e/workload.ts';
import { type Bed, CHART, IMAGE, NODES, type NodeName } from './bed.ts';

export type Values = Readonly<Record<string, unknown>>;

/** A surge with handover, the default of the chart on the host network (docs/how-to/upgrade.md). */
export const SURGE: Values = {
  updateStrategy: { type: 'RollingUpdate', maxUnavailable: 0, maxSurge: 1 },
  handover: { enabled: true, drain: '1h' },
};
/** One node's Pod at a time, without a successor beside it. A shorter drain than the default, to shorten the test. */
export const ONE_AT_A_TIME: Values = {
  updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1, maxSurge: 0 },
  handover: { enabled: false },
  drainTimeout: '5s',
};

/** How long a rollout over all nodes may take: each new Pod must be ready for `minReadySeconds`, and an old one drains. */
export const ROLLOUT_MS = 180_000;

export interface PodView {
  readonly name: string;
  readonly node: string;
  readonly image: string;
  /** The number of the DaemonSet's template that it was made from. */
  readonly template: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly terminating: boolean;
  /** Why the container does not run, such as CrashLoopBackOff. */
  readonly reason: string;
  readonly created: string;
  /** The id of the container at its runtime. */
  readonly container: string;
}

export interface Answer {
  readonly code: number;
  readonly text: string;
}

export class Release {
  readonly #bed: Bed;

  constructor(bed: Bed) {
    this.#bed = bed;
  }

  /** The commands of docs/how-to/install/kubernetes.md: the namespace with its label, and the chart. */
  async install(values: Values = {}): Promise<void> {
    const label = 'pod-security.kubernetes.io/enforce=privileged';
    await this.#bed.kubectl('label', 'namespace', NAMESPACE, label, '--overwrite');
    await this.upgrade(values);
    await this.untilRolledOut();
  }

  /** `helm upgrade --install`, as the documentation has it, with these values in a file. */
  async upgrade(values: Values = {}): Promise<void> {
    const file = join(this.#bed.directory, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const usual = ['--set', `image.repository=${IMAGE}`, '--set', 'nodeSelector.network-node=enabled'];
    await this.#bed.helm('upgrade', '--install', 'isthmus', CHART, ...usual, '--values', file);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as the API server has it
  async daemonSet(): Promise<any> {
    return JSON.parse(await this.#bed.kubectl('-n', NAMESPACE, 'get', 'daemonset', 'isthmus', '-o', 'json'));
  }

  /** All Pods of this release, the newest first. */
  async pods(): Promise<PodView[]> {
    const text = await this.#bed.kubectl(
      '-n',
      NAMESPACE,
      'get',
      'pods',
      '-l',
      'app.kubernetes.io/name=isthmus',
      '-o',
      'json',
    );
    // biome-ignore lint/suspicious/noExplicitAny: as the API server has it
    const items = JSON.parse(text).items as any[];
    const views = items.map(({ metadata, spec, status }) => {
      const [container] = status.containerStatuses ?? [];
      return {
        name: metadata.name as string,
        node: (spec.nodeName ?? '') as string,
        image: spec.containers[0].image as string,
        template: metadata.labels['pod-template-generation'] as string,
        ready: container?.ready === true,
        restarts: (container?.restartCount ?? 0) as number,
        terminating: metadata.deletionTimestamp !== undefined,
        reason: (container?.state?.waiting?.reason ??
          container?.lastState?.terminated?.reason ??
          '') as string,
        created: metadata.creationTimestamp as string,
        container: (container?.containerID ?? '').replace('containerd://', '') as string,
      };
    });
    return views.sort((left, right) => right.created.localeCompare(left.created));
  }

  /** The newest Pod of a node that is not terminating. */
  async pod(node: NodeName): Promise<PodView> {
    const found = (await this.pods()).find((each) => each.node === node && !each.terminating);
    if (found === undefined) throw new Error(`${node} has no Pod`);
    return found;
  }

  /**
   * Each node has a ready Pod of the newest template. The numbers in the status of the DaemonSet, and `kubectl rollout status`, wait for
   * old Pods that drain beside it.
   */
  async untilRolledOut(): Promise<void> {
    const rolledOut = async () => {
      const newest = (await this.daemonSet()).metadata.annotations[
        'deprecated.daemonset.template.generation'
      ];
      const ready = (await this.pods()).filter(
        (pod) => pod.ready && !pod.terminating && pod.template === newest,
      );
      return NODES.every((node) => ready.some((pod) => pod.node === node));
    };
    await this.until('each node has a ready Pod of the newest template', rolledOut, ROLLOUT_MS);
  }

  /**
   * Each Pod has been ready for `minReadySeconds`. Before that, the DaemonSet controller replaces the Pods of all nodes at once: it considers
   * them out of order.
   */
  async untilAvailable(): Promise<void> {
    const available = async () => {
      const { metadata, status } = await this.daemonSet();
      return status.observedGeneration === metadata.generation && status.numberAvailable === NODES.length;
    };
    await this.until('the Pods are available', available, ROLLOUT_MS);
  }

  /** Both nodes are ready with this tag of the image. */
  async untilImage(tag: string): Promise<void> {
    await this.until(`both nodes run ${tag}`, async () => {
      const { spec } = await this.daemonSet();
      return spec.template.spec.containers[0].image === `${IMAGE}:${tag}`;
    });
    await this.untilRolledOut();
  }

  /** No Pod of an older template is left, not even one that drains. */
  async untilOldPodsAreGone(): Promise<void> {
    const haveEnded = async () => (await this.pods()).length === NODES.length;
    await this.until('the old Pods have ended', haveEnded, ROLLOUT_MS);
  }

  async uninstall(...flags: readonly string[]): Promise<void> {
    await this.#bed.helm('uninstall', 'isthmus', ...flags);
  }

  /** Waits until both nodes publish slices of this cluster. */
  async untilPublished(cluster: string, count: number = NODES.length): Promise<void> {
    await this.until(`${count} ready slices of ${cluster}`, async () => {
      const slices = await this.#bed.management.slices(cluster);
      return slices.filter(({ ready }) => ready).length === count;
    });
  }

  /** Waits until the condition holds. A failure shows the Pods, what the kubelets say about them, and the logs of those that are not ready. */
  async until(what: string, condition: () => Promise<boolean>, milliseconds?: number): Promise<void> {
    try {
      await this.#bed.until(what, condition, milliseconds);
    } catch (error) {
      const pods = await this.pods();
      const logs = pods.filter(({ ready }) => !ready).map(({ name }) => this.lastLog(name));
      const lines = [...pods.map((each) => JSON.stringify(each)), ...(await this.eventsOn('Pod')).slice(-8)];
      for (const log of await Promise.all(logs)) lines.push(...log.trimEnd().split('\n').slice(-8));
      throw new Error(`${(error as Error).message}\n${lines.join('\n')}`);
    }
  }

  /** A command of Isthmus inside the Pod of a node. */
  async exec(node: NodeName, ...args: readonly string[]): Promise<Answer> {
    const pod = await this.pod(node);
    return this.execIn(pod.name, ...args);
  }

  execIn(pod: string, ...args: readonly string[]): Promise<Answer> {
    return this.runIn(pod, 'isthmus', ...args);
  }

  /** Any command inside a Pod. */
  async runIn(pod: string, ...command: readonly string[]): Promise<Answer> {
    const [kubectl, all] = componentCommand('kubectl', [
      ...[`--kubeconfig=${this.#bed.management.kubeconfigFile}`, '-n', NAMESPACE],
      ...['exec', pod, '--', ...command],
    ]);
    try {
      const { stdout } = await promisify(execFile)(kubectl, all, { timeout: 60_000 });
      return { code: 0, text: stdout };
    } catch (error) {
      const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
      return { code: Number(/exit code (\d+)/.exec(stderr)?.[1] ?? code ?? -1), text: `${stdout}${stderr}` };
    }
  }

  /** Messages of the Events on objects of this kind, or on one of them. Repeated messages appear repeatedly. */
  async eventsOn(kind: string, name?: string): Promise<string[]> {
    const fields = [
      `involvedObject.kind=${kind}`,
      ...(name === undefined ? [] : [`involvedObject.name=${name}`]),
    ];
    const only = ['--field-selector', fields.join(',')];
    const text = await this.#bed.kubectl('-n', NAMESPACE, 'get', 'events', ...only, '-o', 'json');
    const items = JSON.parse(text).items as { message: string; count?: number }[];
    return items.flatMap(({ message, count }) => Array<string>(count ?? 1).fill(message));
  }

  /** The log of a Pod's container, or of the one before it if the newest has not written yet. */
  async lastLog(pod: string): Promise<string> {
    const read = (...more: readonly string[]) =>
      this.#bed.kubectl('-n', NAMESPACE, 'logs', pod, ...more).catch(() => '');
    return `${await read('--previous')}\n${await read()}`;
  }
}
