// Cuts what comes from a unix socket into lines, and keeps no more than a bound of one that does not end.
import type { Socket } from 'node:net';
import { MOST_LINE_BYTES } from './handover-messages.ts';

/** `onLine` is told each; a line without an end closes the connection. `begun` was read before. */
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
