// The page of the outcomes of connections.
import { OUTCOME_MEANINGS } from '../../src/proxy/native/outcomes.ts';
import { code, page, type ReferencePage, table } from './page.ts';

export function connectionOutcomes(): ReferencePage {
  return page({
    name: 'connection-outcomes',
    title: 'Outcomes of connections',
    sources: ['src/proxy/native/outcomes.ts'],
    blocks: [
      'Each connection ends with one outcome: the field `outcome` in the log, and the label `outcome` in [metrics](metrics.md). ' +
        'The `reason` beside it is more precise: [reasons](logs.md#reasons-of-connections).',
      table(
        ['outcome', 'meaning'],
        Object.entries(OUTCOME_MEANINGS).map(([outcome, meaning]) => [code(outcome), meaning]),
      ),
    ],
  });
}
