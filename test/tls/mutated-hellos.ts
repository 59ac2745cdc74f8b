// Makes nearly correct hellos, deterministically: captured and built hellos that are cut, changed, spliced and split into new
// records. Independent of the parser.

import { CAPTURES } from '../captures/captures.ts';
import {
  bytesOf,
  extension,
  helloMessage,
  hostNameExtension,
  messageIn,
  nameEntry,
  oneByteRecords,
  records,
  serverNameExtension,
} from './hello-builder.ts';

/** Numbers below `bound`, from a seed (mulberry32). */
function randomFrom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

const NAMES = [
  'demo-cluster.magnum-system',
  'Demo-Cluster.MAGNUM-system',
  'demo.example.',
  'demo..example',
  '.',
  '',
  'x',
  '_under.score',
  'demo example',
  '192.0.2.1',
  '2001:db8::1',
  'nul\0byte',
  'b\xfccher',
  'x'.repeat(63),
  'x'.repeat(64),
  'x'.repeat(255),
  'x'.repeat(256),
  `${'abcdefg.'.repeat(31)}abcde`,
  `${'abcdefg.'.repeat(31)}abcdef`,
];

/** TLS 1.2 with enough content for any server to parse up to the name. */
const GROUPS = extension(10, Uint8Array.of(0, 2, 0, 23));
const ALGORITHMS = extension(13, Uint8Array.of(0, 2, 4, 1));

/** Hellos with correct lengths and different server names. */
const BUILT: readonly Uint8Array[] = [
  ...NAMES.map((name) => [hostNameExtension(name)]),
  [],
  [hostNameExtension('demo'), hostNameExtension('demo')],
  [hostNameExtension('demo'), hostNameExtension('evil')],
  [serverNameExtension(nameEntry('demo'), nameEntry('evil'))],
  [serverNameExtension(nameEntry('demo', 1), nameEntry('evil'))],
  [serverNameExtension(nameEntry('demo'), nameEntry('evil', 1))],
  [serverNameExtension(nameEntry('demo', 1))],
  [serverNameExtension()],
  [extension(0, new Uint8Array(0))],
  [hostNameExtension('demo'), ALGORITHMS, ALGORITHMS],
].map((extensions) => helloMessage({ extensions: [GROUPS, ...extensions, ALGORITHMS] }));

/** Hellos with errors in the fields before the extensions. */
const ODD: readonly Uint8Array[] = [
  helloMessage({ version: 0x0300 }),
  helloMessage({ sessionId: new Uint8Array(33) }),
  helloMessage({ cipherSuites: new Uint8Array(0) }),
  helloMessage({ compression: Uint8Array.of(1) }),
  helloMessage({ extensions: null }),
];

const MESSAGES: readonly Uint8Array[] = [...CAPTURES.map(({ bytes }) => messageIn(bytes)), ...BUILT, ...ODD];

/** First every message unchanged, in full and in one-byte records; then `count` more with an error. */
export function mutatedHellos(count: number, seed: number): readonly Uint8Array[] {
  const random = randomFrom(seed);
  const hellos = [...MESSAGES.map((message) => records(message)), ...MESSAGES.map(oneByteRecords)];
  for (let i = 0; i < count; i += 1) {
    const message = MESSAGES[random(MESSAGES.length)] as Uint8Array;
    hellos.push(mutated(message, random));
  }
  return hellos;
}

function mutated(message: Uint8Array, random: (bound: number) => number): Uint8Array {
  const sizes = random(3) === 0 ? Array.from({ length: 1 + random(6) }, () => 1 + random(300)) : [];
  switch (random(7)) {
    case 0: // Changes a few bytes of the message.
      return records(changed(message, 1 + random(3), random), sizes);
    case 1: // Changes a few bytes near the name, if there is one.
      return records(changedNear(message, serverNameAt(message), random), sizes);
    case 2: // Changes a few bytes near the start, record header included.
      return changedNear(records(message, sizes), 0, random);
    case 3: // Truncates.
      return records(message, sizes).slice(0, random(message.length));
    case 4: // Adds or removes a byte and corrects the length of the message.
      return records(withLength(spliced(message, random)), sizes);
    case 5: // Appends bytes after the message in its last record.
      return records(
        bytesOf(
          message,
          Array.from({ length: 1 + random(20) }, () => random(256)),
        ),
        sizes,
      );
    default: // Changes a length or type byte by one or to an extreme.
      return records(nudged(message, random), sizes);
  }
}

function serverNameAt(message: Uint8Array): number {
  const at = Buffer.from(message).indexOf('demo');
  return at < 0 ? 40 : at - 9;
}

function changed(bytes: Uint8Array, times: number, random: (bound: number) => number): Uint8Array {
  const copy = bytes.slice();
  for (let i = 0; i < times; i += 1) copy[random(copy.length)] = random(256);
  return copy;
}

function changedNear(bytes: Uint8Array, at: number, random: (bound: number) => number): Uint8Array {
  const copy = bytes.slice();
  for (let i = 0; i <= random(2); i += 1) {
    const place = Math.min(copy.length - 1, at + random(36));
    copy[place] = random(2) === 0 ? random(256) : (copy[place] as number) + (random(2) === 0 ? 1 : -1);
  }
  return copy;
}

function nudged(bytes: Uint8Array, random: (bound: number) => number): Uint8Array {
  const copy = bytes.slice();
  const place = random(copy.length);
  const value = copy[place] as number;
  copy[place] = [value + 1, value - 1, 0, 255, value ^ 0x80][random(5)] as number;
  return copy;
}

function spliced(bytes: Uint8Array, random: (bound: number) => number): Uint8Array {
  const at = 4 + random(bytes.length - 4);
  return random(2) === 0
    ? bytesOf(bytes.slice(0, at), bytes.slice(at + 1))
    : bytesOf(bytes.slice(0, at), [random(256)], bytes.slice(at));
}

function withLength(message: Uint8Array): Uint8Array {
  const copy = message.slice();
  const length = copy.length - 4;
  copy.set([length >> 16, (length >> 8) & 0xff, length & 0xff], 1);
  return copy;
}
