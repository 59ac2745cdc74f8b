// Whether another live process already goes by our name: two nodes with one host name take each other's objects.
import type { LeaseObject } from '../control/cluster-shape.ts';
import { leaseName } from '../control/instance-name.ts';
import { HOST_ANNOTATION } from '../control/object-labels.ts';
import { resourcePath } from '../kube/api-path.ts';
import { KubeError } from '../kube/kube-error.ts';
import { type Check, type Finding, ok, problem, skipped, warning } from './check.ts';
import { type KubernetesVisit, REQUEST_MS } from './kubernetes-visit.ts';
import type { Running } from './port-checks.ts';

export interface NodeNameQuestion {
  readonly instance: string;
  /** The boot id of this host; empty where it is not known. */
  readonly host: string;
  readonly namespace: string;
  readonly running: Promise<Running>;
  readonly wallNow: () => number;
}

export function nodeNameCheck(visit: KubernetesVisit, question: NodeNameQuestion): Check {
  const { instance, host, namespace, wallNow } = question;
  return {
    name: 'node-name',
    after: ['login'],
    run: async () => {
      const running = await question.running;
      const isRunning = running?.kubernetes?.instance === instance && running.kubernetes.lease === 'held';
      try {
        const lease = await visit.client.request<LeaseObject>({
          method: 'GET',
          path: resourcePath({
            group: 'coordination.k8s.io',
            version: 'v1',
            resource: 'leases',
            namespace,
            name: leaseName(instance),
          }),
          timeoutMs: REQUEST_MS,
        });
        return leaseFinding(lease, { instance, host, isRunning }, wallNow() + (visit.skewMs ?? 0));
      } catch (error) {
        if (error instanceof KubeError && error.code === 'not-found')
          return ok(`${instance}: no other instance has this name`);
        if (error instanceof KubeError && error.code === 'forbidden')
          return skipped('not looked at: its Lease may not be read');
        return visit.trouble(error);
      }
    },
  };
}

const DEFAULT_DURATION_S = 30;

export interface OwnName {
  readonly instance: string;
  readonly host: string;
  /** By the isthmus that answers on this host. */
  readonly isRunning: boolean;
}

/** By the server's clock, which is nobody's in particular: good enough for a hint, and nothing is decided from it. */
export function leaseFinding(
  { metadata, spec }: LeaseObject,
  { instance, host, isRunning }: OwnName,
  serverNowMs: number,
): Finding {
  const holder = spec?.holderIdentity ?? '';
  const ageS = (serverNowMs - Date.parse(spec?.renewTime ?? '')) / 1000;
  if (holder === '' || Number.isNaN(ageS) || ageS > (spec?.leaseDurationSeconds ?? DEFAULT_DURATION_S))
    return ok(`${instance}: nobody renews its Lease any more`);
  if (isRunning) return ok(`${instance}: its Lease is held by the isthmus that runs here`);
  const elsewhere = metadata?.annotations?.[HOST_ANNOTATION] ?? '';
  if (host !== '' && elsewhere !== '' && elsewhere !== host)
    return problem(
      `${instance}: another host goes by this name too: ${holder} renewed the Lease ${Math.max(0, Math.round(ageS))} s ago, and has boot id ${elsewhere}, not ours`,
      'Give each host a host name, or a --node-name, of its own (unless this host was started again within the last half minute).',
    );
  return warning(
    `${instance}: its Lease is held by ${holder}, renewed ${Math.max(0, Math.round(ageS))} s ago, and no isthmus answers at --admin here`,
    'Give each host a --node-name of its own, unless that process has only just ended or has another --admin.',
  );
}
