// Summarises a list of times: median, maximum and a short description.

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

export const spread = (ms: readonly number[]): string =>
  `median ${seconds(median(ms))}, max ${seconds(Math.max(...ms))} (${ms.length} times)`;
