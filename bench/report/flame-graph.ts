// Turns the text of `perf script` into folded stacks and then into a flame graph, one SVG of rectangles and text.
// The width of a frame is its share of the samples. Hovering over a frame shows its name and share.

/** Maps "outer;inner;innermost" to a number of samples. */
export type Folded = ReadonlyMap<string, number>;

/** Parses `perf script -F comm,ip,sym`: the thread's name, its frames from the innermost outwards, then an empty line. */
export function folded(script: string): Folded {
  const stacks = new Map<string, number>();
  for (const sample of script.split(/\n\n+/)) {
    const [thread, ...frames] = sample.split('\n').filter((line) => line.trim() !== '');
    if (thread === undefined) continue;
    const names = frames.map(frameName).reverse();
    const key = [thread.trim(), ...names].join(';');
    stacks.set(key, (stacks.get(key) ?? 0) + 1);
  }
  return stacks;
}

/** "    ffffffff81 tcp_sendmsg" → "tcp_sendmsg". Addresses without a symbol share one name; otherwise each would be its own frame. */
function frameName(line: string): string {
  const name = line.trim().replace(/^[0-9a-f]+\s+/, '');
  return name.replaceAll(';', ':').replace(/\(.*$/, '').trim() || '[unknown]';
}

interface Frame {
  readonly name: string;
  samples: number;
  readonly inner: Map<string, Frame>;
}

function tree(stacks: Folded): Frame {
  const all: Frame = { name: 'all', samples: 0, inner: new Map() };
  for (const [stack, samples] of stacks) {
    all.samples += samples;
    let at = all;
    for (const name of stack.split(';')) {
      const next = at.inner.get(name) ?? { name, samples: 0, inner: new Map() };
      at.inner.set(name, next);
      next.samples += samples;
      at = next;
    }
  }
  return all;
}

const WIDTH = 1200;
const ROW = 16;
const LETTER = 6.2;
/** Narrower frames are left out, because they would not be visible. */
const NARROWEST = 0.6;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Returns a warm colour that depends only on the name, so two graphs are comparable. */
function colourOf(name: string): string {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return `hsl(${10 + (hash % 45)} 85% ${62 + ((hash >> 8) % 14)}%)`;
}

function depthOf(frame: Frame, scale: number): number {
  let deepest = 0;
  for (const inner of frame.inner.values())
    if (inner.samples * scale >= NARROWEST) deepest = Math.max(deepest, depthOf(inner, scale));
  return 1 + deepest;
}

export function flameGraph(stacks: Folded, title: string): string {
  const root = tree(stacks);
  const scale = WIDTH / Math.max(1, root.samples);
  const rows = depthOf(root, scale);
  const height = rows * ROW + 48;
  const body: string[] = [];
  const draw = (frame: Frame, x: number, depth: number): void => {
    const width = frame.samples * scale;
    if (width < NARROWEST) return;
    const y = height - (depth + 1) * ROW - 8;
    const share = ((100 * frame.samples) / root.samples).toFixed(1);
    const letters = Math.floor((width - 4) / LETTER);
    const label = frame.name.length <= letters ? frame.name : `${frame.name.slice(0, letters - 1)}…`;
    body.push(
      `<g><title>${escaped(frame.name)}: ${frame.samples} samples, ${share} %</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.5, width - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${colourOf(frame.name)}"/>` +
        (letters >= 3 ? `<text x="${(x + 3).toFixed(1)}" y="${y + 11}">${escaped(label)}</text>` : '') +
        '</g>',
    );
    let at = x;
    for (const inner of [...frame.inner.values()].sort((a, b) => a.name.localeCompare(b.name, 'en'))) {
      draw(inner, at, depth + 1);
      at += inner.samples * scale;
    }
  };
  draw(root, 0, 0);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="10" fill="#222">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="8" y="20" font-family="sans-serif" font-size="14" font-weight="bold">${escaped(title)}</text>`,
    ...body,
    '</svg>\n',
  ].join('\n');
}

/** Returns the frames in which most samples ended, with their shares. */
export function hottest(stacks: Folded, count: number): (readonly [name: string, share: number])[] {
  const own = new Map<string, number>();
  let all = 0;
  for (const [stack, samples] of stacks) {
    const name = stack.slice(stack.lastIndexOf(';') + 1);
    own.set(name, (own.get(name) ?? 0) + samples);
    all += samples;
  }
  return [...own]
    .map(([name, samples]) => [name, samples / all] as const)
    .sort((a, b) => b[1] - a[1])
    .slice(0, count);
}
