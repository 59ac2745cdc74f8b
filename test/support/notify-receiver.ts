// Plays systemd's end of NOTIFY_SOCKET. Node cannot receive datagrams on unix sockets, so a Python helper receives and reports them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { until, WAIT_MS, within } from './tcp.ts';

const SCRIPT = `
import json, os, socket, struct, sys
address = sys.argv[1]
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 16, 1)
server.bind('\\0' + address[1:] if address[0] == '@' else address)
print('listening', flush=True)
while True:
    data, ancillary, _, _ = server.recvmsg(65536, 4096)
    pid = next((struct.unpack('iII', c)[0] for level, kind, c in ancillary if kind == 2), 0)
    print(json.dumps({'pid': pid, 'text': data.decode()}), flush=True)
`;

export interface Notification {
  readonly pid: number;
  readonly fields: Readonly<Record<string, string>>;
}

export class NotifyReceiver {
  readonly address: string;
  readonly all: Notification[] = [];
  readonly #child: ChildProcess;
  #read = 0;

  private constructor(address: string, child: ChildProcess) {
    this.address = address;
    this.#child = child;
  }

  static async start(address: string): Promise<NotifyReceiver> {
    const child = spawn('python3', ['-c', SCRIPT, address], { stdio: ['ignore', 'pipe', 'inherit'] });
    const receiver = new NotifyReceiver(address, child);
    const lines = createInterface({ input: child.stdout! });
    await within(WAIT_MS, 'the notify receiver to listen', once(lines, 'line'));
    lines.on('line', (line) => {
      const { pid, text } = JSON.parse(line) as { pid: number; text: string };
      const fields = text.split('\n').map((each) => {
        const at = each.indexOf('=');
        return [each.slice(0, at), each.slice(at + 1)];
      });
      receiver.all.push({ pid, fields: Object.fromEntries(fields) as Record<string, string> });
    });
    return receiver;
  }

  /** The next message that the test has not read yet. */
  async next(): Promise<Notification['fields']> {
    await until('a notification', () => this.all.length > this.#read);
    return (this.all[this.#read++] as Notification).fields;
  }

  /** Waits for a matching message, past or future, and skips all others. */
  async until(
    what: string,
    condition: (notification: Notification) => boolean,
    milliseconds = WAIT_MS,
  ): Promise<Notification> {
    await until(`the notification of systemd: ${what}`, () => this.all.some(condition), milliseconds);
    return this.all.find(condition) as Notification;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await within(WAIT_MS, 'the exit of the notify receiver', once(this.#child, 'exit'));
  }
}
