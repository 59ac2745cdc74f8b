// The program that Client starts on its machine. `loop <kubeconfig> <milliseconds>` opens a new connection at that interval and sends one
// request on each. `hold <kubeconfig> <count>` keeps that many connections open and sends a request on each once a second; it prints
// a line of JSON per answer, with the time at which the request began, and one when a connection is cut. `upgrade <kubeconfig> <path>` upgrades a connection and expects an echo. All end with their standard input.
import { readFileSync } from 'node:fs';
import { Agent, type AgentOptions, request } from 'node:https';
import type { Socket } from 'node:net';
import { parse } from 'yaml';

const [mode, file, number] = process.argv.slice(2) as [string, string, string];
const config = parse(readFileSync(file, 'utf8')) as {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { 'client-certificate-data'?: string; 'client-key-data'?: string } }];
};
const decoded = (text: string) => Buffer.from(text, 'base64');
const [{ cluster }] = config.clusters;
const [{ user }] = config.users;
const url = new URL(cluster.server);
const tls: AgentOptions = {
  ca: decoded(cluster['certificate-authority-data']),
  ...(user['client-certificate-data'] && { cert: decoded(user['client-certificate-data']) }),
  ...(user['client-key-data'] && { key: decoded(user['client-key-data']) }),
};

/** The timeout of one request. TCP retransmits a lost packet after 1, 3 and 7 s; the resolver retries a lost DNS query after 5 s. */
const PATIENCE_MS = 30_000;

/** The error of a long connection that ended. */
const CUT = 'it was cut';

let over = false;
process.stdin.on('end', () => {
  over = true;
});
process.stdin.resume();

interface AskOptions {
  /** Part of every line of output. */
  readonly about?: object;
  readonly onNewSocket?: (socket: Socket) => void;
}

function ask(agent: Agent, { about = {}, onNewSocket = () => {} }: AskOptions = {}): Promise<void> {
  const started = performance.now();
  const at = Date.now();
  return new Promise((resolve) => {
    const say = (answer: { ok: boolean; error?: string }) => {
      const ms = Math.round(performance.now() - started);
      process.stdout.write(`${JSON.stringify({ ...answer, at, ms, ...about })}\n`);
      resolve();
    };
    const sent = request(new URL('/version', url), { agent, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.on('end', () => say({ ok: response.statusCode === 200 }));
      response.on('error', (error) => say({ ok: false, error: error.message }));
    });
    sent.on('socket', (socket) => sent.reusedSocket || onNewSocket(socket));
    sent.on('timeout', () => sent.destroy(new Error(`no answer in ${PATIENCE_MS} ms`)));
    sent.on('error', (error: NodeJS.ErrnoException) =>
      say({ ok: false, error: error.code ?? error.message }),
    );
    sent.end();
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function loop(everyMs: number): Promise<void> {
  const under = new Set<Promise<void>>();
  while (!over) {
    const agent = new Agent({ ...tls, keepAlive: false, maxCachedSessions: 0 });
    const asked = ask(agent).finally(() => under.delete(asked));
    under.add(asked);
    await pause(everyMs);
  }
  await Promise.all(under);
}

async function hold(connection: number): Promise<void> {
  const agent = new Agent({ ...tls, keepAlive: true, maxSockets: 1 });
  const about = { connection };
  // An attempt that fails is in the answer of its request. Only a connection that was open can be cut.
  const onNewSocket = (socket: Socket) =>
    socket.once('secureConnect', () =>
      socket.once('close', () => {
        const line = { ok: false, error: CUT, at: Date.now(), ms: 0, ...about };
        if (!over) process.stdout.write(`${JSON.stringify(line)}\n`);
      }),
    );
  while (!over) {
    await ask(agent, { about, onNewSocket });
    await pause(1000);
  }
  agent.destroy();
}

function upgrade(path: string): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  return new Promise((resolve) => {
    const headers = { Connection: 'Upgrade', Upgrade: 'echo' };
    const sent = request(new URL(path, url), { agent: new Agent(tls), headers });
    sent.on('response', (response) => {
      say(`status ${response.statusCode}`);
      resolve();
    });
    sent.on('error', (error) => {
      say(error.message);
      resolve();
    });
    sent.on('upgrade', async (response, socket) => {
      say(`upgraded to ${response.headers.upgrade}`);
      let echoes = 0;
      for (; echoes < 20; echoes += 1) {
        const word = `word ${echoes}`;
        const back = new Promise<string>((heard) => socket.once('data', (data: Buffer) => heard(`${data}`)));
        socket.write(word);
        if ((await back) !== word) break;
        await pause(100);
      }
      say(`${echoes} of 20 echoes`);
      socket.destroy();
      resolve();
    });
    sent.end();
  });
}

if (mode === 'upgrade') await upgrade(number);
else if (mode === 'loop') await loop(Number(number));
else await Promise.all(Array.from({ length: Number(number) }, (_, connection) => hold(connection)));
process.exit(0);
