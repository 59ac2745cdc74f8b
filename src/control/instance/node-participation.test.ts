import { describe, expect, test } from 'vitest';
import { parseNodeSelector } from '../../kube/labels/node-selector.ts';
import { type NodeObservation, participation, type UnknownNode } from './node-participation.ts';

const parsed = parseNodeSelector([{ key: 'role', operator: 'In', values: ['network'] }]);
if (parsed.kind !== 'selector') throw new Error('not a selector');
const { selector } = parsed;
const of = (observation: NodeObservation, unknown: UnknownNode = 'take-part') =>
  participation('net-1', selector, unknown, observation);

describe('an instance', () => {
  test('takes part when its Node is selected', () =>
    expect(of({ kind: 'seen', labels: { role: 'network' } })).toEqual({
      takesPart: true,
      reason: 'Node net-1 is selected',
      problem: null,
    }));

  test('does not take part when its Node is not selected, and names the unmet requirement', () =>
    expect(of({ kind: 'seen', labels: {} })).toEqual({
      takesPart: false,
      reason: 'Node net-1 is not selected: role In network is not met',
      problem: null,
    }));

  test('does not decide before the Node was read', () => expect(of({ kind: 'not-yet' })).toBeNull());

  test.each<[NodeObservation, string]>([
    [{ kind: 'absent' }, 'there is no Node net-1'],
    [{ kind: 'unreadable', why: 'forbidden' }, 'Node net-1 cannot be read (forbidden)'],
  ])('follows --unknown-node when the Node is %j, and reports a problem', (observation, why) => {
    expect(of(observation)).toMatchObject({ takesPart: true, reason: `${why}: --unknown-node take-part` });
    expect(of(observation)?.problem).toBe(
      `${why}, so it is unknown whether it is selected: this instance takes part (--unknown-node take-part)`,
    );
    expect(of(observation, 'stay-out')).toMatchObject({ takesPart: false });
    expect(of(observation, 'stay-out')?.problem).toContain('this instance does not take part');
  });
});
