// The links of the explanation that are objects in Kubernetes: Service, slice, kubeconfig. Pure.

import type { PublicationStatus } from '../../control/plan/plan.ts';
import type { Link } from './explanation.ts';
import type { ClusterView, StatusView } from './status.ts';

/** `served`: this instance connects clients of the cluster. Otherwise its slice must not be ready. */
export function publishedLinks(cluster: ClusterView, view: StatusView, served: boolean): Link[] {
  if (view.kubernetes === null) return [];
  const { publication, name } = cluster;
  if (publication === undefined) {
    const says = 'this instance publishes nothing for the cluster';
    return (['service', 'slice', 'kubeconfig'] as const).map((link) => ({
      link,
      state: served ? 'unknown' : 'waits',
      says,
      next: null,
    }));
  }
  const takesPart = view.kubernetes.takesPart !== false;
  const service = serviceLink(publication, name, served && takesPart);
  const slice = sliceLink(publication, view, served && service.state === 'ok');
  return [service, slice, kubeconfigLink(publication, name, slice.state === 'ok')];
}

function serviceLink({ service, problem }: PublicationStatus, name: string, served: boolean): Link {
  const link = 'service';
  switch (service) {
    case 'ours':
      return { link, state: 'ok', says: `isthmus maintains the Service ${name}`, next: null };
    case 'upstream':
      return { link, state: 'ok', says: `Service ${name} of magnum-cluster-api-proxy is used`, next: null };
    case 'foreign':
      return {
        link,
        state: 'broken',
        says: problem ?? `Service ${name} is not ours`,
        next: `Rename or remove that Service, or the cluster.`,
      };
    case 'absent':
      return served
        ? { link, state: 'broken', says: `there is no Service ${name}`, next: WRITE_NEXT }
        : { link, state: 'waits', says: `there is no Service ${name}`, next: null };
  }
}

const WRITE_NEXT =
  'It should exist within a second. isthmus status lists failed writes, and isthmus doctor shows the cause.';

function sliceLink(publication: PublicationStatus, view: StatusView, wanted: boolean): Link {
  const link = 'slice';
  const { slice, readyInstances, problem } = publication;
  const count = `${readyInstances} ready in all`;
  if (slice === 'ready' && wanted)
    return { link, state: 'ok', says: `this instance's slice is ready, ${count}`, next: null };
  if (view.kubernetes?.takesPart === false)
    return {
      link,
      state: 'apart',
      says: `this instance's slice is ${slice}, ${count}: this instance does not take part (${view.kubernetes.takesPartBecause})`,
      next: null,
    };
  if (!wanted)
    return { link, state: 'waits', says: `this instance's slice is ${slice}, ${count}`, next: null };
  const lease = view.kubernetes?.lease ?? 'not-yet';
  if (lease === 'lost')
    return {
      link,
      state: 'broken',
      says: `this instance's slice is ${slice}, ${count}: another process holds the Lease of this node, so this one writes nothing`,
      next: 'Stop this process if the other is its successor. Two processes on one node each need their own --node-name.',
    };
  if (lease === 'not-yet')
    return {
      link,
      state: 'broken',
      says: `this instance's slice is ${slice}, ${count}: this process does not hold the Lease of its node yet, and writes nothing without it`,
      next: 'If this does not change, isthmus status shows the answer of the API, and isthmus doctor shows the missing right.',
    };
  return {
    link,
    state: 'broken',
    says: `this instance's slice is ${slice}, ${count}${problem === null ? '' : `: ${problem}`}`,
    next: WRITE_NEXT,
  };
}

function kubeconfigLink(publication: PublicationStatus, name: string, published: boolean): Link {
  const link = 'kubeconfig';
  const secret = `Secret ${name}-kubeconfig`;
  const { kubeconfig, problem } = publication;
  switch (kubeconfig) {
    case 'proxied':
      return { link, state: 'ok', says: `${secret} points to the Service`, next: null };
    case 'absent':
      return {
        link,
        state: 'apart',
        says: `there is no ${secret}`,
        next: 'The control plane provider creates it. Clients with their own kubeconfig do not need it.',
      };
    case 'left-alone':
      return {
        link,
        state: 'apart',
        says: problem ?? `${secret} is left alone`,
        next: `To use the proxy, set its server to https://${name}.<namespace>:6443.`,
      };
    case 'direct':
    case 'unread':
      return published
        ? {
            link,
            state: 'broken',
            says: `${kubeconfig === 'unread' ? 'as far as is known, ' : ''}${secret} does not point to the Service yet`,
            next: `The first instance with a ready slice writes it: run isthmus status there.`,
          }
        : { link, state: 'waits', says: `${secret} does not point to the Service`, next: null };
  }
}
