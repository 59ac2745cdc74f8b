// The text of `isthmus status`: one line per cluster and listener, then sentences, at most 100 columns wide. Pure. The JSON and
// `isthmus explain` have complete ids and all details.
import type { KubernetesStatus } from '../../control/apply/kubernetes-status.ts';
import { listenerLines } from './listener-text.ts';
import type { ClusterView, StatusView } from './status.ts';
import { counted, tableLines, PAGE_WIDTH as WIDTH, wrapped } from './wrapped-text.ts';

export function statusText(status: StatusView): string {
  const { kubernetes, clusters } = status;
  const ready = status.ready ? 'ready' : `not ready: ${status.notReadyBecause ?? 'unknown'}`;
  const lines = [
    `isthmus ${status.version} on ${status.instance}, listening on ${status.listen ?? 'nothing yet'}: ${ready}`,
    ...(kubernetes === null ? [] : kubernetesLines(kubernetes)),
    `${counted(clusters.length, 'cluster')}, ${counted(status.connections, 'open connection')}`,
  ];
  if (status.control.stalledSince !== null)
    lines.push(
      `the control loop has not answered since ${status.control.stalledSince}: the following data is older`,
    );
  lines.push(...clusterLines(clusters, kubernetes !== null));
  lines.push(...listenerLines(status.listeners));
  for (const { origin, reason } of status.problems)
    lines.push(...wrapped(`  ! ${origin}: ${reason}`, WIDTH, 4));
  return `${lines.join('\n')}\n`;
}

function kubernetesLines({
  server,
  identity,
  lease,
  liveness,
  instances,
  takesPart,
  takesPartBecause,
  staleSince,
}: KubernetesStatus): string[] {
  const held = { held: 'Lease held', lost: 'Lease lost to another process', 'not-yet': 'Lease not held yet' };
  const others = instances === null ? 'instances not known' : counted(instances, 'live instance');
  const mode = liveness === null ? '' : ` (seen by ${liveness})`;
  const lines = wrapped(`Kubernetes ${server}: ${held[lease]}, ${others}${mode}`, WIDTH, 2);
  lines.push(...wrapped(`  as ${identity}`, WIDTH, 4));
  if (takesPart === false)
    lines.push(
      ...wrapped(`  does not take part, other instances serve its clients: ${takesPartBecause}`, WIDTH, 4),
    );
  if (staleSince !== null)
    lines.push(...wrapped(`  no update since ${staleSince}: routes use the last known state`, WIDTH, 4));
  return lines;
}

function clusterLines(clusters: readonly ClusterView[], isPublished: boolean): string[] {
  if (clusters.length === 0) return [];
  const rows = clusters.map((cluster) => {
    const { name, state, publication } = cluster;
    const published = isPublished ? [publication?.slice ?? '-', publication?.kubeconfig ?? '-'] : [];
    const problem = publication?.problem ?? null;
    return {
      cells: [name, state, ...published],
      sentence: whereText(cluster),
      below: problem === null ? [] : wrapped(`    ! ${problem}`, WIDTH, 6),
    };
  });
  if (!isPublished) return tableLines(rows, ['cluster', 'not-proxied']);
  return tableLines([{ cells: ['cluster', 'state', 'slice', 'kubeconfig'] }, ...rows]);
}

function whereText({ state, backend, netns, connections, reason }: ClusterView): string {
  return state === 'serving'
    ? `${backend} in ${shortened(netns ?? '')}, ${counted(connections, 'connection')}`
    : reason;
}

/** The first group of an id is enough for a person to distinguish networks. */
const shortened = (netns: string): string =>
  netns.replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, '$1-…');
