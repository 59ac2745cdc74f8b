// A listener that never accepts and has a full accept queue: its kernel no longer answers a SYN.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { inNetns } from '../support/network/netns.ts';

// The listener's process blocks its event loop once it listens and never calls accept(). Then its worker fills the queue.
const SERVER = `
const net = require('node:net');
const { Worker, isMainThread, workerData } = require('node:worker_threads');
const host = process.argv[1];
const server = net.createServer();
server.listen({ host, port: 0, backlog: 1 }, () => {
  const { port } = server.address();
  const blocked = new Int32Array(new SharedArrayBuffer(4));
  new Worker(\`
    const net = require('node:net');
    const { workerData: { host, port, blocked } } = require('node:worker_threads');
    Atomics.wait(blocked, 0, 0);
    for (let i = 0; i < 8; i++) net.connect(port, host).on('error', () => {});
    setTimeout(() => require('node:fs').writeSync(1, port + '\\\\n'), 300);
    setInterval(() => {}, 1000);
  \`, { eval: true, workerData: { host, port, blocked } }).once('online', () => {
    Atomics.store(blocked, 0, 1);
    Atomics.notify(blocked, 0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
});
`;

export async function fullListener(
  netns: string,
  host: string,
): Promise<{ port: number; stop(): Promise<void> }> {
  const child = spawn(...inNetns(netns, process.execPath, '-e', SERVER, host), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(Number(line)));
    void exited.then(() => reject(new Error('the listener ended')));
  });
  return {
    port,
    stop: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
