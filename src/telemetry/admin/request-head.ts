// Parses the head of an HTTP/1 request. Strict: unusual syntax is invalid. Pure.

export type RequestHead =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid'; readonly status: 400 | 431; readonly reason: string }
  | {
      readonly kind: 'request';
      readonly method: string;
      readonly target: string;
      /** One entry per header line, names in lower case. */
      readonly headers: readonly (readonly [name: string, value: string])[];
    };

export const MAX_HEAD_BYTES = 16 * 1024;

const END = '\r\n\r\n';
const REQUEST_LINE = /^([A-Z]{1,20}) (\S+) HTTP\/1\.([01])$/;
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** `bytes`: everything received so far. Bytes after the head are ignored. */
export function requestHead(bytes: Buffer): RequestHead {
  const end = bytes.indexOf(END);
  if (end > MAX_HEAD_BYTES || (end === -1 && bytes.length > MAX_HEAD_BYTES))
    return { kind: 'invalid', status: 431, reason: `the head has more than ${MAX_HEAD_BYTES} bytes` };
  if (end === -1) return couldBeRequest(bytes) ? { kind: 'incomplete' } : invalid('this is not a request');
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const [, method, target, minor] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) return invalid('this is not an HTTP/1 request');
  const headers: [string, string][] = [];
  for (const line of lines) {
    const header = headerOf(line);
    if (header === null) return invalid('a line of the head is not a header');
    headers.push(header);
  }
  const hosts = headers.filter(([name]) => name === 'host').length;
  if (hosts === 0 && minor === '1') return invalid('the request has no Host header'); // RFC 9112, section 3.2
  return { kind: 'request', method, target, headers };
}

/** Rejects a space before the colon and continuation lines. No regular expression reads the value: spaces would make it backtrack. */
function headerOf(line: string): [name: string, value: string] | null {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon));
  if (!TOKEN.test(name) || /[\0\r\n]/.test(line)) return null;
  let [begin, end] = [colon + 1, line.length];
  while (begin < end && isBlank(line[begin])) begin += 1;
  while (end > begin && isBlank(line[end - 1])) end -= 1;
  return [name.toLowerCase(), line.slice(begin, end)];
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t';

function invalid(reason: string): RequestHead {
  return { kind: 'invalid', status: 400, reason };
}

/** Detects other protocols at their first bytes: a TLS client sends its ClientHello and then waits for an answer. */
function couldBeRequest(bytes: Buffer): boolean {
  return /^[A-Z]*(?: |$)/.test(bytes.toString('latin1', 0, 21));
}
