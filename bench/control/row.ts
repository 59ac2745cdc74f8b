// One line of the result: the measured value, the value of the program that Isthmus replaces, the goal, and whether it is met.

export interface Row {
  readonly what: string;
  /** The value of magnum-cluster-api-proxy, measured once on real Kubernetes. */
  readonly upstream: string;
  readonly goal: string;
  readonly measured: string;
  /** Null if there is no number to compare. */
  readonly met: boolean | null;
}

export function table(rows: readonly Row[]): string {
  const mark = (met: boolean | null) => (met === null ? '' : met ? ' ✓' : ' ✗');
  return [
    '| | upstream | goal | measured |',
    '| --- | --- | --- | --- |',
    ...rows.map(
      ({ what, upstream, goal, measured, met }) =>
        `| ${what} | ${upstream} | ${goal} | ${measured}${mark(met)} |`,
    ),
  ].join('\n');
}
