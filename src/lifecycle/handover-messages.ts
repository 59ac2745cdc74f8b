// The messages of a handover between two processes: lines of JSON over a unix socket. The processes can have different versions.
// A process rejects a message that it does not understand, and an existing message never changes its meaning.
import type { Socket } from 'node:net';

/** From a connecting process: the successor, or `isthmus reload`. */
export type ToPredecessor =
  /** Asks for the listening sockets, to serve in the predecessor's place. The answer is `sockets` or `refused`. */
  | {
      readonly kind: 'take';
      readonly version: string;
      /** `<namespace>/<name>:<generation>` of its Pod. Absent without a DaemonSet, and in older releases. */
      readonly daemonSet?: string;
      /** `--take-over`: the predecessor must not object to its DaemonSet. */
      readonly takeOver?: boolean;
    }
  /** The successor serves on the sockets; the predecessor must stop accepting. The answer is `released`. */
  | { readonly kind: 'serving' }
  /** From `isthmus reload`: start a successor. The answer is `upgraded` or `failed`, after the attempt ends. */
  | { readonly kind: 'upgrade'; readonly environment: Readonly<Record<string, string>> | null };

export type FromPredecessor =
  /** The descriptors travel with the line, in the same order. `more`: another `sockets` line follows. */
  | {
      readonly kind: 'sockets';
      readonly version: string;
      /** The sender in the Lease of its node. Absent in older releases. */
      readonly process?: string;
      readonly sockets: readonly { readonly name: string; readonly pinned: boolean }[];
      readonly more: boolean;
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'released' }
  | { readonly kind: 'upgraded'; readonly pid: number; readonly version: string }
  | { readonly kind: 'failed'; readonly reason: string };

export const MOST_LINE_BYTES = 256 * 1024;

export function messageLine(message: ToPredecessor | FromPredecessor): string {
  return `${JSON.stringify(message)}\n`;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** null: unknown message. */
export function toPredecessor(line: string): ToPredecessor | null {
  const message = parsed(line);
  switch (message?.kind) {
    case 'take':
      return isText(message.version)
        ? {
            kind: 'take',
            version: message.version,
            ...(isText(message.daemonSet) && { daemonSet: message.daemonSet }),
            ...(message.takeOver === true && { takeOver: true }),
          }
        : null;
    case 'serving':
      return { kind: 'serving' };
    case 'upgrade': {
      const { environment } = message;
      if (environment === null) return { kind: 'upgrade', environment };
      if (!isObject(environment) || !Object.values(environment).every(isText)) return null;
      return { kind: 'upgrade', environment: environment as Record<string, string> };
    }
    default:
      return null;
  }
}

/** null: unknown message. */
export function fromPredecessor(line: string): FromPredecessor | null {
  const message = parsed(line);
  switch (message?.kind) {
    case 'sockets': {
      const { version, process, sockets, more } = message;
      if (!isText(version) || !Array.isArray(sockets)) return null;
      const named = sockets.map((each: unknown) =>
        isObject(each) && isText(each.name) ? { name: each.name, pinned: each.pinned === true } : null,
      );
      if (named.includes(null)) return null;
      return {
        kind: 'sockets',
        version,
        ...(isText(process) && { process }),
        sockets: named.filter((each) => each !== null),
        more: more === true,
      };
    }
    case 'refused':
    case 'failed':
      return isText(message.reason) ? { kind: message.kind, reason: message.reason } : null;
    case 'released':
      return { kind: 'released' };
    case 'upgraded': {
      const { pid, version } = message;
      return typeof pid === 'number' && isText(version) ? { kind: 'upgraded', pid, version } : null;
    }
    default:
      return null;
  }
}

/** Calls `onLine` for each line. An unfinished line over the bound closes the connection. `begun` is text that was already read. */
export function readLines(socket: Socket, onLine: (line: string) => void, begun = ''): void {
  let rest = '';
  const take = (text: string) => {
    rest += text;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      onLine(line);
    }
    if (rest.length > MOST_LINE_BYTES) socket.destroy();
  };
  socket.setEncoding('utf8').on('data', take);
  take(begun);
}
