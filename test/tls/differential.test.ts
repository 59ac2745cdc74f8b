// Compares our parser with two independent parsers, OpenSSL's and Go's, on thousands of nearly correct hellos.
// If one of them is not installed, its test is skipped and a warning is printed.
//
// | they say     | we may say                                                                                    |
// | ------------ | --------------------------------------------------------------------------------------------- |
// | `name n`     | `server-name` n (folded, one dot dropped), or `invalid` for a reason listed as stricter         |
// | `none`       | `no-server-name`, or `invalid` for a reason listed as stricter                                  |
// | `incomplete` | `incomplete`, or `invalid` for any reason: we judge fields before the message is complete; or     |
// |              | anything, if the message is complete and only the rest of its last record is missing            |
// | `error`      | anything: they judge much that is not ours to judge (key shares, versions, ciphers)             |
//
// This proves two things: we never route by a name that the backend would not see, and never wait for bytes that it does not need.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HelloResult, type InvalidHelloReason, parseClientHello } from '../../src/tls/client-hello.ts';
import { messageIn } from './hello-builder.ts';
import { mutatedHellos } from './mutated-hellos.ts';

const FOLDER = fileURLToPath(new URL('differential/', import.meta.url));
const HELLOS = mutatedHellos(12_000, 0x15_7b_0b_5e);

/** No server checks the characters of a name; RFC 6066 3 and RFC 1035 restrict them. */
const NAME_RULES: readonly InvalidHelloReason[] = [
  'name-too-long',
  'name-bad-character',
  'name-bad-label',
  'name-is-ip',
];

const STRICTER_THAN_OPENSSL: ReadonlySet<InvalidHelloReason> = new Set([...NAME_RULES, 'name-empty']);

const STRICTER_THAN_GO: ReadonlySet<InvalidHelloReason> = new Set([
  ...NAME_RULES,
  'name-not-ascii',
  'name-has-nul',
  // Go calls its callback before it checks these, or never checks them.
  'bad-client-version',
  'bad-session-id',
  'bad-cipher-suites',
  'bad-compression',
  // Go rejects only record versions from 16.0 up.
  'bad-record-version',
]);

function folded(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Whether our answer is allowed by theirs. */
function agrees(
  theirs: string,
  ours: HelloResult,
  stricter: ReadonlySet<InvalidHelloReason>,
  hello: Uint8Array,
): boolean {
  const [kind, hex] = theirs.split(' ');
  switch (kind) {
    case 'name': {
      const name = folded(Buffer.from(hex ?? '', 'hex').toString('latin1'));
      return ours.kind === 'server-name' ? ours.serverName === name : isStricter(ours, stricter);
    }
    case 'none':
      return ours.kind === 'no-server-name' || isStricter(ours, stricter);
    case 'incomplete':
      return ours.kind === 'incomplete' || ours.kind === 'invalid' || hasWholeMessage(hello);
    default:
      return kind === 'error';
  }
}

function isStricter(ours: HelloResult, stricter: ReadonlySet<InvalidHelloReason>): boolean {
  return ours.kind === 'invalid' && stricter.has(ours.reason);
}

function hasWholeMessage(hello: Uint8Array): boolean {
  const message = Buffer.from(messageIn(hello));
  return message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3);
}

function viewsOf(program: string, options: readonly string[]): readonly string[] {
  const input = `${HELLOS.map((hello) => Buffer.from(hello).toString('hex')).join('\n')}\n`;
  const output = execFileSync(program, options, { input, encoding: 'utf8', maxBuffer: 1 << 26 });
  return output.trimEnd().split('\n');
}

/** Compares all hellos. The counts show that the test is not empty. */
function compare(who: string, views: readonly string[], stricter: ReadonlySet<InvalidHelloReason>) {
  expect(views).toHaveLength(HELLOS.length);
  const counts = { name: 0, none: 0, incomplete: 0, error: 0, stricter: 0 };
  const disagreements: string[] = [];
  const permitted = new Set<InvalidHelloReason>();
  for (const [i, hello] of HELLOS.entries()) {
    const theirs = views[i] as string;
    const ours = parseClientHello(hello);
    if (!agrees(theirs, ours, stricter, hello)) {
      disagreements.push(`${theirs} / ${JSON.stringify(ours)} / ${Buffer.from(hello).toString('hex')}`);
    }
    const kind = theirs.split(' ')[0] as 'name' | 'none' | 'incomplete' | 'error';
    if (ours.kind === 'invalid' && (kind === 'name' || kind === 'none')) {
      counts.stricter += 1;
      permitted.add(ours.reason);
    } else {
      counts[kind] += 1;
    }
  }
  expect(disagreements).toEqual([]);
  // An unused permission may hide a change, or their version has become equally strict.
  const unused = [...stricter].filter((reason) => !permitted.has(reason));
  console.log(
    `${who} against us: ${JSON.stringify(counts)}, permissions not needed: ${unused.join(' ') || 'none'}`,
  );
  return counts;
}

function runs(program: string, ...options: string[]): boolean {
  return spawnSync(program, options, { stdio: 'ignore' }).status === 0;
}

const hasPython = runs('python3', '-c', 'import ssl; ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).sni_callback');
const hasGo = runs('go', 'version');
if (!hasPython) console.warn('NOT COMPARED with OpenSSL: there is no python3 with ssl here');
if (!hasGo) console.warn('NOT COMPARED with Go: there is no go here');

describe.skipIf(!hasPython)(
  `OpenSSL through Python${hasPython ? '' : ' (NOT RUN: no python3 with ssl here)'}`,
  () => {
    test('never sees another name than our parser', () => {
      const counts = compare(
        'OpenSSL',
        viewsOf('python3', ['-W', 'ignore', join(FOLDER, 'hello_view.py')]),
        STRICTER_THAN_OPENSSL,
      );
      expect(counts.name).toBeGreaterThan(2_000);
      expect(counts.none).toBeGreaterThan(100);
      expect(counts.incomplete).toBeGreaterThan(1_000);
      expect(counts.stricter).toBeGreaterThan(100);
    });
  },
);

describe.skipIf(!hasGo)("Go's crypto/tls", () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'isthmus-differential-'));
    // Downloads nothing: there are no modules, and no other toolchain.
    const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' };
    execFileSync('go', ['build', '-o', join(folder, 'hello-view'), '.'], { cwd: FOLDER, env });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('never sees another name than our parser', () => {
    const counts = compare('Go', viewsOf(join(folder, 'hello-view'), []), STRICTER_THAN_GO);
    expect(counts.name).toBeGreaterThan(2_000);
    expect(counts.none).toBeGreaterThan(100);
    expect(counts.incomplete).toBeGreaterThan(1_000);
    expect(counts.stricter).toBeGreaterThan(100);
  });
});
