// The number of these moments in the busiest window of a given length.

export function busiestWindow(sortedMs: readonly number[], lengthMs: number): number {
  let busiest = 0;
  for (let first = 0, last = 0; last < sortedMs.length; last++) {
    while (sortedMs[last]! - sortedMs[first]! >= lengthMs) first++;
    busiest = Math.max(busiest, last - first + 1);
  }
  return busiest;
}
