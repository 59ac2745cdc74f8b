// The settings file of the Debian package, read as systemd reads an EnvironmentFile=. The unit passes it to `isthmus run`. Commands that
// an operator starts by hand do not get it from systemd, so they read it themselves.
import { readFileSync } from 'node:fs';

export const SETTINGS_FILE = '/etc/default/isthmus';

export interface SettingsFile {
  readonly settings: Readonly<Record<string, string>>;
  /** A sentence for each thing in the file that systemd ignores, and for a file that cannot be read. */
  readonly warnings: readonly string[];
}

/** Without the package there is no such file, and no setting. */
export function readSettingsFile(path = SETTINGS_FILE): SettingsFile {
  try {
    const { settings, ignored } = parseEnvironmentFile(readFileSync(path, 'utf8'));
    return {
      settings,
      warnings: ignored.map(
        (line) => `${path}: ${JSON.stringify(line)} is not <name>=<value>: systemd ignores it`,
      ),
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { settings: {}, warnings: [] };
    return { settings: {}, warnings: [`${path} cannot be read (${code}): its settings are not checked`] };
  }
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** In double quotes, a backslash keeps its meaning before any other character. */
const ESCAPABLE = '"\\`$';

/** systemd.exec(5), EnvironmentFile=. Pure. */
export function parseEnvironmentFile(text: string): {
  readonly settings: Readonly<Record<string, string>>;
  readonly ignored: readonly string[];
} {
  const settings: Record<string, string> = {};
  const ignored: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = lineEnd(text, at);
    const first = text.slice(at, end).trimStart();
    const equals = text.indexOf('=', at);
    if (first === '') at = end + 1;
    else if (/^[#;]/.test(first)) at = commentEnd(text, at);
    else if (equals === -1 || equals > end) {
      ignored.push(first.trimEnd());
      at = end + 1;
    } else {
      const name = text.slice(at, equals).trim();
      const value = readValue(text, equals + 1);
      if (NAME.test(name)) settings[name] = value.text;
      else ignored.push(text.slice(at, value.end).trim());
      at = value.end + 1;
    }
  }
  return { settings, ignored };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

/** A backslash at the end of a comment continues the comment. */
function commentEnd(text: string, from: number): number {
  let end = lineEnd(text, from);
  while (text[end - 1] === '\\' && end < text.length) end = lineEnd(text, end + 1);
  return end + 1;
}

/** `end` is the position of the line break that ends the value. */
function readValue(text: string, from: number): { readonly text: string; readonly end: number } {
  let value = '';
  /** The length of `value` without the unquoted spaces at its end. */
  let kept = 0;
  /** True before the value and after a closing quote. There a quote opens a quoted part, and spaces are skipped. */
  let isBefore = true;
  let at = from;
  while (at < text.length && text[at] !== '\n') {
    const part = partAt(text, at, isBefore);
    at = part.end;
    if (part.kind !== 'space' || !isBefore) value += part.text;
    if (part.kind === 'space') continue;
    kept = value.length;
    isBefore = part.kind === 'quoted';
  }
  return { text: value.slice(0, kept), end: at };
}

interface ValuePart {
  readonly kind: 'quoted' | 'bare' | 'space';
  readonly text: string;
  readonly end: number;
}

function partAt(text: string, at: number, mayQuote: boolean): ValuePart {
  const char = text[at] as string;
  if (mayQuote && (char === '"' || char === "'")) return quotedAt(text, at, char);
  if (isSpace(char)) return { kind: 'space', text: char, end: at + 1 };
  if (char !== '\\' || at + 1 === text.length) return { kind: 'bare', text: char, end: at + 1 };
  const next = text[at + 1] as string;
  return { kind: 'bare', text: next === '\n' ? '' : next, end: at + 2 };
}

/** Without the closing quote, the part ends with the text. */
function quotedAt(text: string, from: number, quote: string): ValuePart {
  let value = '';
  let at = from + 1;
  for (; at < text.length && text[at] !== quote; at += 1) {
    if (text[at] !== '\\' || quote !== '"' || at + 1 === text.length) value += text[at];
    else {
      at += 1;
      const next = text[at] as string;
      if (next !== '\n') value += ESCAPABLE.includes(next) ? next : `\\${next}`;
    }
  }
  return { kind: 'quoted', text: value, end: Math.min(at + 1, text.length) };
}

const isSpace = (char: string) => /[ \t\r]/.test(char);
