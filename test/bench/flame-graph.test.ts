// The output of `perf script` becomes stacks, and the stacks become a flame graph. The width of a frame is its share of the samples.
import { expect, test } from 'vitest';
import { flameGraph, folded, hottest } from '../../bench/report/flame-graph.ts';

const SCRIPT = `isthmus
	ffffffff81a00001 tcp_sendmsg
	ffffffff81a00002 splice_to_socket
	    7f0000000003 isthmus::Worker::Flush(isthmus::Connection&)

isthmus
	ffffffff81a00001 tcp_sendmsg
	ffffffff81a00009 splice_to_socket
	    7f0000000003 isthmus::Worker::Flush(isthmus::Connection&)

node
	    7f0000000004 [unknown]

`;

test('samples with the same frames count as one stack, outermost frame first, at any address', () => {
  expect([...folded(SCRIPT)]).toEqual([
    ['isthmus;isthmus::Worker::Flush;splice_to_socket;tcp_sendmsg', 2],
    ['node;[unknown]', 1],
  ]);
});

test('the hottest frames are those in which most samples end', () => {
  expect(hottest(folded(SCRIPT), 1)).toEqual([['tcp_sendmsg', 2 / 3]]);
});

test('the width of a frame is its share of the samples, and its name is escaped', () => {
  const svg = flameGraph(
    new Map([
      ['a<b>', 3],
      ['c', 1],
    ]),
    'A & B',
  );
  expect(svg).toContain('A &amp; B');
  expect(svg).toMatch(/<title>a&lt;b>: 3 samples, 75\.0 %<\/title><rect x="0\.0" y="\d+" width="899\.5"/);
  expect(svg).toMatch(/<title>c: 1 samples, 25\.0 %<\/title><rect x="900\.0"/);
});

test('a profile without samples gives an empty picture, not an error', () => {
  expect(flameGraph(folded(''), 'nothing')).toContain('</svg>');
});
