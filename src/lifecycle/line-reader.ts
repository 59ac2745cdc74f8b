// Splits the bytes of a unix socket into lines, with a bound on the length of an unfinished line.
import type { Socket } from 'node:net';
import { MOST_LINE_BYTES } from './handover-messages.ts';

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
