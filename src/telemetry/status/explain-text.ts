// The text of an explanation: the answer first, then what to do, then the entire chain. Pure.
import type { Explanation, LinkState } from './explanation.ts';
import { PAGE_WIDTH as WIDTH, wrapped } from './wrapped-text.ts';

const MARKS: Readonly<Record<LinkState, string>> = {
  ok: 'ok',
  broken: 'BROKEN',
  waits: 'waits',
  unknown: '?',
  apart: 'apart',
};
const MARK_WIDTH = 'BROKEN'.length;
const LINK_WIDTH = 'kubeconfig'.length;

export function explanationText(explanation: Explanation): string {
  if (explanation.kind === 'unknown') {
    const { asked, nearest, known } = explanation;
    const meant = nearest.length === 0 ? '' : `; did you mean ${nearest.join(' or ')}?`;
    const seen = `${known} ${known === 1 ? 'cluster is' : 'clusters are'} known here (isthmus status lists them)`;
    return `${[
      ...wrapped(`no cluster is named ${JSON.stringify(asked)}${meant}`, WIDTH, 2),
      ...wrapped(`  ${seen}`, WIDTH, 4),
      ...wrapped(
        '  -> Is its OpenStackCluster in --cluster-namespace, with the name in the label cluster.x-k8s.io/cluster-name?',
        WIDTH,
        5,
      ),
    ].join('\n')}\n`;
  }
  const { summary, broken, chain, notes, listeners } = explanation;
  const lines = wrapped(summary, WIDTH, 2);
  if (broken !== null) {
    lines.push(...wrapped(`  ${broken.link}: ${broken.says}`, WIDTH, 4));
    if (broken.next !== null) lines.push(...wrapped(`  -> ${broken.next}`, WIDTH, 5));
  }
  for (const note of notes) lines.push(...wrapped(`  ! ${note}`, WIDTH, 4));
  lines.push('');
  for (const { link, state, says, next } of chain) {
    const head = `  ${MARKS[state].padEnd(MARK_WIDTH)}  ${link.padEnd(LINK_WIDTH)}  `;
    lines.push(...wrapped(`${head}${says}`, WIDTH, head.length));
    // The advice for the first broken link is already printed above.
    if (next !== null && link !== broken?.link)
      lines.push(...wrapped(`${' '.repeat(head.length)}-> ${next}`, WIDTH, head.length + 3));
  }
  if (listeners.length > 0) lines.push('', 'Additional listeners:');
  for (const listener of listeners) lines.push(...wrapped(`  ${listener}`, WIDTH, 4));
  return `${lines.join('\n')}\n`;
}
