// Checks whether another live process uses the same instance name. Two nodes with one host name take each other's objects; so do a
// systemd unit and a Pod on one host. Only a renewal proves that the holder lives, so the check waits for one.
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseName } from '../../control/objects/instance-name.ts';
import { HOST_ANNOTATION } from '../../control/objects/object-labels.ts';
import type { LeaseObject } from '../../control/objects/published-objects.ts';
import { resourcePath } from '../../kube/api-path.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type Check, type Finding, ok, problem, skipped } from './check.ts';
import { type KubernetesVisit, REQUEST_MS } from './kubernetes-visit.ts';
import type { Running } from './port-checks.ts';

export interface NodeNameQuestion {
  readonly instance: string;
  /** The boot id of this host; empty if it is not known. */
  readonly host: string;
  readonly namespace: string;
  /** Called again after the Lease has changed: the isthmus on this host may have taken it. */
  readonly running: () => Promise<Running>;
  readonly wallNow: () => number;
  /** How long to wait for a renewal. A live holder renews every 10 s. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 14_000;
const LOOK_MS = 500;
const DEFAULT_DURATION_S = 30;

export function nodeNameCheck(visit: KubernetesVisit, question: NodeNameQuestion): Check {
  const { instance, host, namespace, running, wallNow, patienceMs = PATIENCE_MS } = question;
  const path = resourcePath({
    group: 'coordination.k8s.io',
    version: 'v1',
    resource: 'leases',
    namespace,
    name: leaseName(instance),
  });
  const read = () => visit.client.request<LeaseObject>({ method: 'GET', path, timeoutMs: REQUEST_MS });
  const judge = async (lease: LeaseObject): Promise<NameHolder> => {
    const { kubernetes } = (await running()) ?? {};
    const lives = kubernetes?.instance === instance ? kubernetes.lease : null;
    return nameHolder(lease, { host, lives }, wallNow() + (visit.skewMs ?? 0));
  };
  return {
    name: 'node-name',
    after: ['login'],
    timeoutMs: patienceMs + 2 * REQUEST_MS,
    run: async () => {
      try {
        let lease = await read();
        let found = await judge(lease);
        const before = renewal(lease);
        const end = performance.now() + patienceMs;
        while (found.kind === 'other' && renewal(lease) === before && performance.now() < end) {
          await sleep(LOOK_MS);
          lease = await read();
          if (renewal(lease) !== before) found = await judge(lease);
        }
        return holderFinding(instance, found, renewal(lease) !== before);
      } catch (error) {
        if (error instanceof KubeError && error.code === 'not-found')
          return ok(`${instance}: no other instance has this name`);
        if (error instanceof KubeError && error.code === 'forbidden')
          return skipped('not checked: its Lease may not be read');
        return visit.trouble(error);
      }
    },
  };
}

const renewal = ({ spec }: LeaseObject) => `${spec?.holderIdentity} ${spec?.renewTime}`;

export type NameHolder =
  | { readonly kind: 'none' }
  /** The isthmus that answers on this host holds it. */
  | { readonly kind: 'own' }
  | {
      readonly kind: 'other';
      readonly holder: string;
      readonly ageS: number;
      /** The boot id of another host; null: the holder is on this host, or its host is not known. */
      readonly elsewhere: string | null;
      /** The holder took the Lease from the isthmus that answers on this host. */
      readonly tookIt: boolean;
    };

export interface OwnName {
  readonly host: string;
  /** The Lease state that the isthmus of this name on this host reports; null: none answers. */
  readonly lives: 'not-yet' | 'held' | 'lost' | null;
}

/** Compares with an estimate of the server's clock: only a hint. The check reports another holder only after a renewal. */
export function nameHolder(
  { metadata, spec }: LeaseObject,
  { host, lives }: OwnName,
  serverNowMs: number,
): NameHolder {
  const holder = spec?.holderIdentity ?? '';
  const ageS = (serverNowMs - Date.parse(spec?.renewTime ?? '')) / 1000;
  if (holder === '' || Number.isNaN(ageS) || ageS > (spec?.leaseDurationSeconds ?? DEFAULT_DURATION_S))
    return { kind: 'none' };
  if (lives === 'held') return { kind: 'own' };
  const there = metadata?.annotations?.[HOST_ANNOTATION] ?? '';
  const elsewhere = host !== '' && there !== '' && there !== host ? there : null;
  return { kind: 'other', holder, ageS, elsewhere, tookIt: lives === 'lost' };
}

/** `renews`: the Lease changed during the check. */
export function holderFinding(instance: string, found: NameHolder, renews: boolean): Finding {
  if (found.kind === 'none') return ok(`${instance}: no process renews its Lease any more`);
  if (found.kind === 'own') return ok(`${instance}: its Lease is held by the isthmus that runs here`);
  const { holder, ageS, elsewhere, tookIt } = found;
  if (!renews)
    return ok(
      `${instance}: its Lease was held by ${holder}, which has not renewed it for ${Math.round(ageS)} s and seems to have ended`,
    );
  if (elsewhere !== null)
    return problem(
      `${instance}: another host also uses this name: ${holder} renews the Lease, and has boot id ${elsewhere}, not ours`,
      'Give each host a host name, or a --node-name, of its own.',
    );
  return problem(
    `${instance}: another isthmus on this host uses this name too: ${holder} renews the Lease` +
      (tookIt ? ', which it took from the one that answers here' : ', and does not answer at --admin here'),
    'Let one of them run: disable the unit (systemctl disable --now isthmus), or leave this node out of the DaemonSet (nodeSelector); ' +
      'two that are meant to run side by side need a --node-name each.',
  );
}
