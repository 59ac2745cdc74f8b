// The text of additional listeners in `isthmus status` and `isthmus explain`, in columns and sentences. Pure.
import type { ListenerView, MemberView } from './listener-view.ts';
import { counted, tableLines, PAGE_WIDTH as WIDTH, wrapped } from './wrapped-text.ts';

/** A listener with more members shows only those that are not ready. */
const MOST_MEMBERS = 8;

export function listenerLines(listeners: readonly ListenerView[]): string[] {
  if (listeners.length === 0) return [];
  const rows = listeners.map((listener) => {
    const { name, cluster, state, counts } = listener;
    const ready = `${counts.ready}/${counts.ready + counts.notReady}`;
    return {
      cells: [name, cluster, state, ready],
      sentence: whereText(listener),
      below: memberLines(listener),
    };
  });
  return [
    counted(listeners.length, 'listener'),
    ...tableLines([{ cells: ['listener', 'cluster', 'state', 'ready'] }, ...rows]),
  ];
}

/** One sentence: name, state, members, and what is wrong. */
export function listenerSentence(listener: ListenerView): string {
  const { name, state, counts } = listener;
  const ignored = counts.ignored === 0 ? '' : `, ${counts.ignored} ignored`;
  const members = `${counts.ready} of ${counts.ready + counts.notReady} members ready${ignored}`;
  return `${name} is ${state} (${members}): ${whereText(listener)}`;
}

function whereText(listener: ListenerView): string {
  const { service, nameConflict } = listener;
  const named =
    service === null || nameConflict === undefined
      ? ''
      : `; its Service is called ${service}: ${nameConflict}`;
  return `${conditionText(listener)}${named}`;
}

function conditionText({
  state,
  protocol,
  port,
  listenPort,
  serverNames,
  connections,
  reason,
  detail,
}: ListenerView): string {
  if (state !== 'serving') return detail === null ? reason : `${reason}: ${detail}`;
  const where =
    protocol === 'TLS' ? `for ${serverNames[0] ?? 'no server name'}` : `on port ${listenPort ?? 'none'} here`;
  return `${protocol} ${port} ${where}, ${counted(connections, 'connection')}`;
}

function memberLines({ members, counts }: ListenerView): string[] {
  const named =
    counts.members <= MOST_MEMBERS ? members : members.filter(({ state }) => state === 'NotReady');
  const shown = named.slice(0, MOST_MEMBERS);
  const left = counts.members - shown.length;
  return [
    ...shown.flatMap((member) => wrapped(`    ${memberText(member)}`, WIDTH, 6)),
    ...(left > 0 && counts.members > MOST_MEMBERS ? [`    and ${left} more, of ${counts.members}`] : []),
  ];
}

function memberText({ machine, address, state, up, reason, lastProbe }: MemberView): string {
  const where = address === null ? machine : `${machine} (${address})`;
  if (state === 'Ready') return `${where}: Ready`;
  if (state === 'Ignored')
    return `${where}: Ignored, ${up ? 'would be ready' : 'would not be ready'}: ${reason}`;
  const error = lastProbe?.error ?? null;
  return `${where}: NotReady: ${reason}${error === null || reason.includes(error) ? '' : ` (${error})`}`;
}
