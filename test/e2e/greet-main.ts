// The program that Client.greet starts on its machine: `<host> <port> <milliseconds>` opens a new connection by name at that interval,
// waits for the first line, and prints it as JSON. It ends with its standard input.
import { connect } from 'node:net';

const [host, port, everyMs] = process.argv.slice(2) as [string, string, string];
const DEADLINE_MS = 30_000;

let over = false;
process.stdin.on('end', () => {
  over = true;
});
process.stdin.resume();

function greet(): Promise<void> {
  const started = performance.now();
  return new Promise((resolve) => {
    let text = '';
    let error: string | undefined;
    const socket = connect({ host, port: Number(port) });
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error('no answer in 30 s')));
    socket.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) socket.end();
    });
    socket.on('error', ({ message }) => {
      error = message;
    });
    socket.on('close', () => {
      const who = text.trim();
      const at = Math.round(performance.now() - started);
      process.stdout.write(
        `${JSON.stringify({ who, ms: at, ...(who === '' && { error: error ?? 'closed' }) })}\n`,
      );
      resolve();
    });
  });
}

const under = new Set<Promise<void>>();
while (!over) {
  const one = greet().finally(() => under.delete(one));
  under.add(one);
  await new Promise((resolve) => setTimeout(resolve, Number(everyMs)));
}
await Promise.all(under);
process.exit(0);
