// How many of these moments fall into the busiest window of a length.

export function busiestWindow(sortedMs: readonly number[], lengthMs: number): number {
  let busiest = 0;
  for (let first = 0, last = 0; last < sortedMs.length; last++) {
    while (sortedMs[last]! - sortedMs[first]! >= lengthMs) first++;
    busiest = Math.max(busiest, last - first + 1);
  }
  return busiest;
}
