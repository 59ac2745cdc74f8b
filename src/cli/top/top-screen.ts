// Renders one screen of `isthmus top` from two answers of /status, the terminal size and the sort order. Pure. The lines fit the width
// and the height of the terminal. Control characters in objects are replaced, so no object can move the cursor.
import type { StatusView } from '../../telemetry/status/status.ts';
import { counted, wrapped } from '../../telemetry/status/wrapped-text.ts';
import { sortedRows, type TopSort } from './top-order.ts';
import { type TopRow, type TopView, topView } from './top-view.ts';

export interface TopInput {
  /** null: rates are not known yet. */
  readonly previous: StatusView | null;
  readonly status: StatusView;
  /** null: no limit on width and length. */
  readonly size: { readonly columns: number; readonly rows: number } | null;
  readonly sort: TopSort;
  /** Why `status` is out of date; null while it is current. */
  readonly trouble: string | null;
}

export type Tone = 'plain' | 'strong' | 'good' | 'warning' | 'bad' | 'dim' | 'title';

export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

export type TopLine = readonly Span[];

/** Further problems are only counted. */
const MOST_PROBLEMS = 3;
const NARROWEST_NAME = 12;
/** A wider name is cut if the netns column needs the space. */
const USUAL_NAME = 32;
/** `ovnmeta-0f1e2d3c…`: enough for a person to distinguish networks. */
const NARROWEST_NETNS = 17;
const GAP = '  ';
/** Wider than any terminal: output to a file is not cut. */
const ENDLESS = 10_000;

export function topScreen({ previous, status, size, sort, trouble }: TopInput): readonly TopLine[] {
  const view = topView(previous, status);
  const columns = size?.columns ?? ENDLESS;
  const rows = sortedRows([...view.clusters, ...view.listeners], sort);
  const head = headLines(view, trouble, columns);
  if (size === null) return [...head, ...tableLines(rows, columns, sort)];
  // The head gets at most half of the screen. The rest is for the clusters.
  const top = head.slice(0, Math.max(1, Math.floor(size.rows / 2)));
  const room = Math.max(0, size.rows - top.length - 2);
  const lines = [...top, ...tableLines(rows, columns, sort).slice(0, room + 1)];
  const last = cutLine(keyLine(sort, Math.max(0, rows.length - room)), columns);
  return [...lines.slice(0, size.rows - 1), last].slice(-size.rows);
}

export function plainText(lines: readonly TopLine[]): string {
  return lines.map((line) => `${lineText(line).trimEnd()}\n`).join('');
}

export const lineText = (line: TopLine): string => line.map(({ text }) => text).join('');

function headLines(view: TopView, trouble: string | null, columns: number): TopLine[] {
  const lines: TopLine[] = [];
  const say = (text: string, tone: Tone = 'plain') => {
    for (const line of wrapped(printable(text), columns, 2))
      lines.push(cutLine([{ text: line, tone }], columns));
  };
  if (trouble !== null) say(trouble, 'bad');
  const { kubernetes, control, problems } = view;
  const ready = view.ready ? 'ready' : `not ready: ${view.notReadyBecause ?? 'unknown'}`;
  say(
    `isthmus ${view.version} on ${view.instance}: ${ready}, up ${spelledUptime(view.uptimeSeconds)}, ` +
      `listening on ${view.listen ?? 'nothing yet'}`,
    view.ready ? 'strong' : 'bad',
  );
  say(
    `${counted(view.connections, 'connection')}, ${compact(view.newPerSecond)} new/s, ${view.pendingDials} dialling; ` +
      `ended: in ${compact(view.bytesInPerSecond)}B/s, out ${compact(view.bytesOutPerSecond)}B/s`,
  );
  say(
    [
      statesText(view.clusters, 'cluster'),
      ...(view.listeners.length === 0 ? [] : [statesText(view.listeners, 'listener')]),
      counted(problems.length, 'problem'),
      `control loop ${control.lagMs} ms`,
    ].join('; '),
  );
  if (control.stalledSince !== null)
    say(`the control loop has not answered since ${control.stalledSince}: states are older`, 'bad');
  if (kubernetes !== null) sayKubernetes(kubernetes, say);
  for (const { origin, reason } of problems.slice(0, MOST_PROBLEMS))
    lines.push(problemLine(`! ${origin}: ${reason}`, columns));
  const left = problems.length - MOST_PROBLEMS;
  if (left > 0) say(`! and ${left} more: isthmus status lists them`, 'warning');
  return lines;
}

/** One line per problem: `isthmus status` shows the full text. */
function problemLine(text: string, columns: number): TopLine {
  return [{ text: cut(printable(text), columns), tone: 'warning' }];
}

function sayKubernetes(
  {
    lease,
    instances,
    takesPart,
    takesPartBecause,
    staleSince,
    published,
  }: NonNullable<TopView['kubernetes']>,
  say: (text: string, tone?: Tone) => void,
): void {
  const held = { held: 'Lease held', lost: 'Lease lost to another process', 'not-yet': 'Lease not held yet' };
  const others = instances === null ? 'instances not known' : counted(instances, 'live instance');
  say(
    `Kubernetes: ${held[lease]}, ${others}, ${counted(published, 'cluster')} published here`,
    lease === 'held' ? 'plain' : 'warning',
  );
  if (takesPart === false)
    say(`does not take part, other instances serve its clients: ${takesPartBecause}`, 'warning');
  if (staleSince !== null)
    say(`no update from Kubernetes since ${staleSince}: routes use the last known state`, 'bad');
}

interface Column {
  readonly title: string;
  readonly sort?: TopSort;
  readonly cell: (row: TopRow) => string;
  readonly right?: true;
}

/** The columns between name and netns. A narrow terminal shortens only these two outer columns. */
const NUMBERS: readonly Column[] = [
  { title: 'state', sort: 'state', cell: ({ state }) => state },
  { title: 'open', sort: 'connections', cell: ({ connections }) => String(connections), right: true },
  { title: 'new/s', sort: 'rate', cell: ({ newPerSecond }) => compact(newPerSecond), right: true },
  { title: 'fail/s', cell: ({ unservedPerSecond }) => compact(unservedPerSecond), right: true },
  { title: 'in/s', sort: 'bytes', cell: ({ bytesInPerSecond }) => compact(bytesInPerSecond), right: true },
  {
    title: 'out/s',
    sort: 'bytes',
    cell: ({ bytesOutPerSecond }) => compact(bytesOutPerSecond),
    right: true,
  },
  { title: 'up', cell: ({ backendsUp, backends }) => `${backendsUp}/${backends}`, right: true },
];

function tableLines(rows: readonly TopRow[], columns: number, sort: TopSort): TopLine[] {
  if (rows.length === 0) return [];
  const name: Column = {
    title: rows.some(({ kind }) => kind === 'listener') ? 'cluster:listener' : 'cluster',
    sort: 'name',
    cell: nameCell(rows),
  };
  const netns: Column = { title: 'netns', cell: ({ netns: where }) => where ?? '-' };
  const shown = [name, ...NUMBERS, netns];
  const cells = rows.map((row) => shown.map(({ cell }) => printable(cell(row))));
  const titles = shown.map((column) => (column.sort === sort ? `${column.title}*` : column.title));
  const widths = shown.map((_, index) =>
    cells.reduce(
      (widest, row) => Math.max(widest, (row[index] as string).length),
      (titles[index] as string).length,
    ),
  );
  const rest = columns - widths.slice(1, -1).reduce((sum, width) => sum + GAP.length + width, 0);
  const wantedName = widths[0] as number;
  const wantedNetns = widths.at(-1) as number;
  const left = rest - GAP.length - Math.min(wantedName, USUAL_NAME);
  const hasNetns = left >= Math.min(wantedNetns, NARROWEST_NETNS);
  const netnsRoom = hasNetns ? GAP.length + Math.min(wantedNetns, NARROWEST_NETNS) : 0;
  const nameWidth = Math.min(wantedName, Math.max(NARROWEST_NAME, rest - netnsRoom));
  widths[0] = nameWidth;
  widths[widths.length - 1] = Math.min(wantedNetns, rest - GAP.length - nameWidth);
  const count = hasNetns ? shown.length : shown.length - 1;
  const placed = (texts: readonly string[]): string[] =>
    texts.slice(0, count).map((text, index) => {
      const width = widths[index] as number;
      const fitting = cut(text, width);
      return shown[index]?.right ? fitting.padStart(width) : fitting.padEnd(width);
    });
  const title = placed(titles).join(GAP);
  const pad = columns === ENDLESS ? title : title.padEnd(columns);
  return [
    cutLine([{ text: pad, tone: 'title' }], columns),
    ...rows.map((row, index) => {
      const [first = '', state = '', ...others] = placed(cells[index] as string[]);
      return cutLine(
        [
          { text: first, tone: row.kind === 'cluster' ? 'strong' : 'plain' },
          { text: GAP, tone: 'plain' },
          { text: state, tone: toneOf(row.state) },
          { text: `${GAP}${others.join(GAP)}`, tone: 'plain' },
        ],
        columns,
      );
    }),
  ];
}

/** Shows the namespace only if the rows have different namespaces. */
function nameCell(rows: readonly TopRow[]): (row: TopRow) => string {
  const isOne = rows.every(({ namespace }) => namespace === rows[0]?.namespace);
  return ({ kind, namespace, cluster, name }) => {
    const place = isOne ? cluster : `${namespace}/${cluster}`;
    return kind === 'cluster' ? place : `${place}:${name}`;
  };
}

function keyLine(sort: TopSort, left: number): TopLine {
  const more = left === 0 ? '' : `${left} more below; `;
  return [
    {
      text: `${more}by ${sort}; c connections  r rate  b bytes  n name  s state  q quit`,
      tone: 'dim',
    },
  ];
}

function toneOf(state: TopRow['state']): Tone {
  switch (state) {
    case 'serving':
      return 'good';
    case 'unhealthy':
    case 'invalid':
    case 'no-members':
      return 'bad';
    case 'pending':
    case 'no-netns':
      return 'warning';
    case 'not-proxied':
      return 'dim';
  }
}

function statesText(rows: readonly TopRow[], what: string): string {
  const counts = new Map<string, number>();
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1);
  const states = [...counts].toSorted(([, one], [, other]) => other - one);
  const details = states.map(([state, count]) => `${count} ${state}`).join(', ');
  return `${counted(rows.length, what)}${details === '' ? '' : `: ${details}`}`;
}

function cutLine(line: TopLine, columns: number): TopLine {
  const result: Span[] = [];
  let room = columns;
  for (const { text, tone } of line) {
    if (room <= 0) break;
    const fitting = text.length <= room ? text : text.slice(0, room);
    if (fitting !== '') result.push({ text: fitting, tone });
    room -= fitting.length;
  }
  return result;
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Escape sequences begin with a control character. */
const printable = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, '?');

const UNITS = ['', 'k', 'M', 'G', 'T', 'P', 'E'] as const;

/** `-` `0` `<0.1` `4.2` `42` `420` `4.2k` `42M`: powers of a thousand. */
export function compact(value: number | null): string {
  if (value === null) return '-';
  if (value === 0) return '0';
  if (value < 0.05) return '<0.1';
  let rest = value;
  for (const unit of UNITS) {
    const text = rest < 9.95 ? rest.toFixed(1).replace(/\.0$/, '') : rest.toFixed(0);
    if (Number(text) < 1000) return `${text}${unit}`;
    rest /= 1000;
  }
  return 'many';
}

/** `12s` `4m 05s` `3h 04m` `12d 3h`. */
export function spelledUptime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ] as const;
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${two(minutes)}m`;
  if (minutes > 0) return `${minutes}m ${two(whole % 60)}s`;
  return `${whole}s`;
}

const two = (value: number): string => String(value).padStart(2, '0');
