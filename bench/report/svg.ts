// Draws the two plots as plain SVG: ratios to HAProxy as bars, the latency distribution as curves. Each plot has its own background,
// so it is also readable in a dark theme.
import { median } from '../harness/statistics.ts';
import { SCENARIOS } from '../scenarios/all.ts';
import { ratioTo } from './ratios.ts';
import type { Report } from './report.ts';

const COLOURS: Readonly<Record<string, string>> = {
  direct: '#9aa0a6',
  haproxy: '#1f77b4',
  'haproxy-nosplice': '#aec7e8',
  'haproxy-pipes': '#5fa2d3',
  'isthmus-native': '#d62728',
  'isthmus-streams': '#ff9896',
  nginx: '#2ca02c',
  sniproxy: '#9467bd',
  envoy: '#8c564b',
};
const SPARE = ['#17becf', '#bcbd22', '#e377c2'];
const colourOf = (peer: string, index: number): string => COLOURS[peer] ?? SPARE[index % SPARE.length]!;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(content)}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number, colour: string): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${colour}"/>`;

function picture(width: number, height: number, title: string, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(16, 24, title, 'font-size="15" font-weight="bold"'),
    ...body,
    '</svg>\n',
  ].join('\n');
}

const LEGEND_COLUMN = 132;
const LEGEND_ROW = 18;

/** Uses as many rows as necessary. `below` is how far the legend moves the plot down. */
function legend(
  peers: readonly string[],
  x: number,
  y: number,
  width: number,
): { drawn: string[]; below: number } {
  const perRow = Math.max(1, Math.floor(width / LEGEND_COLUMN));
  const drawn = peers.flatMap((peer, index) => {
    const [left, top] = [x + (index % perRow) * LEGEND_COLUMN, y + Math.floor(index / perRow) * LEGEND_ROW];
    return [
      `<rect x="${left}" y="${top - 9}" width="10" height="10" fill="${colourOf(peer, index)}"/>`,
      text(left + 14, top, peer),
    ];
  });
  return { drawn, below: (Math.ceil(peers.length / perRow) - 1) * LEGEND_ROW };
}

const BARS = [
  ['new-connections', 'perSecond', 'new connections/s'],
  ['post-quantum', 'perSecond', 'post-quantum hello'],
  ['requests', 'perSecond', 'small requests/s'],
  ['bulk', 'down16', 'bulk down, 16'],
  ['bulk', 'up16', 'bulk up, 16'],
  ['bulk-mtu', 'down16', 'MTU segments, down'],
  ['routes-1000', 'perSecond', '1000 routes'],
] as const;

export function throughputPlot(report: Report): string {
  const groups = BARS.flatMap(([scenarioName, metricName, title]) => {
    const result = report.results.find(({ name }) => name === scenarioName);
    const metric = SCENARIOS.find(({ name }) => name === scenarioName)?.metrics.find(
      ({ name }) => name === metricName,
    );
    if (result === undefined || metric === undefined) return [];
    const bars = report.peers.flatMap(({ name }) => {
      const ratio = ratioTo(result, name, 'haproxy', metric);
      return [ratio.median, ratio.q1, ratio.q3].every(Number.isFinite) ? [{ peer: name, ...ratio }] : [];
    });
    return bars.length === 0 ? [] : [{ title, bars }];
  });
  const peers = report.peers.map(({ name }) => name);
  const [left, top, width, height] = [50, 64, Math.max(140 * peers.length, groups.length * 150), 260];
  const most = Math.max(1.5, ...groups.flatMap(({ bars }) => bars.map(({ q3 }) => q3))) * 1.08;
  const y = (value: number): number => top + height - (value / most) * height;
  const body = legend(peers, left, 46, width).drawn;
  for (let tick = 0; tick <= most; tick += most > 8 ? 5 : 0.5)
    body.push(
      line(left, y(tick), left + width, y(tick), tick === 1 ? '#444' : '#ddd'),
      text(left - 30, y(tick) + 4, tick.toFixed(1)),
    );
  groups.forEach(({ title, bars }, group) => {
    const from = left + (group * width) / groups.length + 8;
    const step = (width / groups.length - 16) / peers.length;
    for (const bar of bars) {
      const index = peers.indexOf(bar.peer);
      const x = from + index * step;
      body.push(
        `<rect x="${x.toFixed(1)}" y="${y(bar.median).toFixed(1)}" width="${(step * 0.85).toFixed(1)}" height="${(top + height - y(bar.median)).toFixed(1)}" fill="${colourOf(bar.peer, index)}"/>`,
        line(x + step * 0.42, y(bar.q1), x + step * 0.42, y(bar.q3), '#222'),
      );
    }
    body.push(text(from, top + height + 18, title));
  });
  return picture(
    left + width + 20,
    top + height + 34,
    'Throughput, HAProxy = 1 (median and quartiles of same-round ratios)',
    body,
  );
}

export function latencyPlot(report: Report): string {
  const result = report.results.find(({ name }) => name === 'latency');
  const curves = report.peers.flatMap(({ name }) => {
    const rounds = result?.rounds.flatMap(({ measurements }) => measurements[name]?.curve ?? []) ?? [];
    const shares = [...new Set(rounds.map(([share]) => share))].sort((a, b) => a - b);
    const points = shares.map(
      (share) => [share, median(rounds.filter(([each]) => each === share).map(([, us]) => us))] as const,
    );
    return points.length === 0 ? [] : [{ peer: name, points }];
  });
  const [left, width, height] = [70, 640, 300];
  const { drawn: body, below } = legend(
    curves.map(({ peer }) => peer),
    left,
    46,
    width,
  );
  const top = 64 + below;
  const values = curves.flatMap(({ points }) => points.map(([, us]) => us)).filter((us) => us > 0);
  if (values.length === 0) return picture(left + width, 80, 'Latency was not measured', []);
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.ceil(Math.log10(Math.max(...values)));
  const y = (us: number): number =>
    top + height - ((Math.log10(Math.max(us, 10 ** low)) - low) / (high - low)) * height;
  const x = (share: number): number => left + (-Math.log10(1 - share) / 4) * width;
  for (let power = low; power <= high; power += 1) {
    const label = power >= 3 ? `${10 ** (power - 3)} ms` : `${10 ** power} µs`;
    body.push(
      line(left, y(10 ** power), left + width, y(10 ** power), '#ddd'),
      text(left - 54, y(10 ** power) + 4, label),
    );
  }
  for (const [share, label] of [
    [0, '0'],
    [0.5, 'p50'],
    [0.9, 'p90'],
    [0.99, 'p99'],
    [0.999, 'p999'],
    [0.9999, 'p9999'],
  ] as const)
    body.push(
      line(x(share), top, x(share), top + height, '#eee'),
      text(x(share) - 10, top + height + 18, label),
    );
  curves.forEach(({ peer, points }, index) => {
    const path = points.map(([share, us]) => `${x(share).toFixed(1)},${y(us).toFixed(1)}`).join(' ');
    body.push(`<polyline points="${path}" fill="none" stroke="${colourOf(peer, index)}" stroke-width="2"/>`);
  });
  const rate = Math.round(result?.facts.rate ?? 0);
  return picture(
    left + width + 40,
    top + height + 34,
    `Connect→first byte, open loop at ${rate} new connections/s`,
    body,
  );
}
