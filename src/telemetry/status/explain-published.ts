// The links of the explanation that are objects in Kubernetes: Service, slice, kubeconfig. Pure.

import type { PublicationStatus } from '../../control/plan/plan.ts';
import { type Link, link } from './explanation.ts';
import type { ClusterView, StatusView } from './status.ts';

/** `served`: this instance connects clients of the cluster. Otherwise its slice must not be ready. */
export function publishedLinks(cluster: ClusterView, view: StatusView, served: boolean): Link[] {
  if (view.kubernetes === null) return [];
  const { publication, name } = cluster;
  if (publication === undefined) {
    const says = 'this instance publishes nothing for the cluster';
    const state = served ? 'unknown' : 'waits';
    return (['service', 'slice', 'kubeconfig'] as const).map((each) => link(each, state, says));
  }
  const takesPart = view.kubernetes.takesPart !== false;
  const service = serviceLink(publication, name, served && takesPart);
  const slice = sliceLink(publication, view, served && service.state === 'ok');
  return [service, slice, kubeconfigLink(publication, name, slice.state === 'ok')];
}

function serviceLink({ service, problem }: PublicationStatus, name: string, served: boolean): Link {
  switch (service) {
    case 'ours':
      return link('service', 'ok', `isthmus maintains the Service ${name}`);
    case 'upstream':
      return link('service', 'ok', `Service ${name} of magnum-cluster-api-proxy is used`);
    case 'foreign': {
      const says = problem ?? `Service ${name} is not ours`;
      return link('service', 'broken', says, 'Rename or remove that Service, or the cluster.');
    }
    case 'absent': {
      const says = `there is no Service ${name}`;
      return served ? link('service', 'broken', says, WRITE_NEXT) : link('service', 'waits', says);
    }
  }
}

const WRITE_NEXT =
  'It should exist within a second. isthmus status lists failed writes, and isthmus doctor shows the cause.';

function sliceLink(publication: PublicationStatus, view: StatusView, wanted: boolean): Link {
  const { slice, readyInstances, problem } = publication;
  const says = `this instance's slice is ${slice}, ${readyInstances} ready in all`;
  if (slice === 'ready' && wanted) return link('slice', 'ok', says);
  if (view.kubernetes?.takesPart === false) {
    const because = `this instance does not take part (${view.kubernetes.takesPartBecause})`;
    return link('slice', 'apart', `${says}: ${because}`);
  }
  if (!wanted) return link('slice', 'waits', says);
  switch (view.kubernetes?.lease ?? 'not-yet') {
    case 'lost':
      return link(
        'slice',
        'broken',
        `${says}: another process holds the Lease of this node, so this one writes nothing`,
        'Stop this process if the other is its successor. Two processes on one node each need their own --node-name.',
      );
    case 'not-yet':
      return link(
        'slice',
        'broken',
        `${says}: this process does not hold the Lease of its node yet, and writes nothing without it`,
        'If this does not change, isthmus status shows the answer of the API, and isthmus doctor shows the missing right.',
      );
    case 'held':
      return link('slice', 'broken', problem === null ? says : `${says}: ${problem}`, WRITE_NEXT);
  }
}

function kubeconfigLink(publication: PublicationStatus, name: string, published: boolean): Link {
  const secret = `Secret ${name}-kubeconfig`;
  const { kubeconfig, problem } = publication;
  switch (kubeconfig) {
    case 'proxied':
      return link('kubeconfig', 'ok', `${secret} points to the Service`);
    case 'absent':
      return link(
        'kubeconfig',
        'apart',
        `there is no ${secret}`,
        'The control plane provider creates it. Clients with their own kubeconfig do not need it.',
      );
    case 'left-alone':
      return link(
        'kubeconfig',
        'apart',
        problem ?? `${secret} is left alone`,
        `To use the proxy, set its server to https://${name}.<namespace>:6443.`,
      );
    case 'unverifiable':
      return link(
        'kubeconfig',
        'broken',
        problem ?? `${secret} is not written: the certificate has none of the names`,
        'Add one of these names to the certificate: the label api_server_cert_sans of Magnum, or certSANs of kubeadm.',
      );
    case 'direct':
    case 'unread': {
      const says = `${secret} does not point to the Service`;
      if (!published) return link('kubeconfig', 'waits', says);
      const qualifier = kubeconfig === 'unread' ? 'as far as is known, ' : '';
      const next = 'The first instance with a ready slice writes it: run isthmus status there.';
      return link('kubeconfig', 'broken', `${qualifier}${says} yet`, next);
    }
  }
}
