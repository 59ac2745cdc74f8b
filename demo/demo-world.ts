// The demo's network node, from real parts: network namespaces with overlapping addresses, and a TLS server with its own CA in each.
// It exists only inside the sandbox of `npm run demo`, so it leaves nothing on the host.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClusterCertificates, clusterCertificates } from './demo-certificates.ts';

/** The address of every tenant's API server: tenants choose their addresses independently. */
export const SHARED_ADDRESS = '10.0.0.5';
export const API_PORT = 6443;
/** The address of the network node, from a documentation range (RFC 5737). Kubernetes rejects loopback addresses in an EndpointSlice. */
export const NODE_ADDRESS = '192.0.2.10';

export interface DemoCluster {
  readonly name: string;
  readonly networkId: string;
  readonly netns: string;
  readonly certificates: ClusterCertificates;
}

/** A machine of a cluster that listens on one port. */
export interface DemoMachine {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly labels: Readonly<Record<string, string>>;
}

export class DemoWorld {
  readonly directory = mkdtempSync(join(tmpdir(), 'isthmus-demo-'));
  readonly #servers = new Map<string, ChildProcess>();

  /** Adds the node's address to the sandbox's network, which has only loopback. */
  takeNodeAddress(): void {
    ip('address', 'add', `${NODE_ADDRESS}/32`, 'dev', 'lo');
  }

  /** Creates a cluster with its certificates. Its network is not on this node yet. */
  makeCluster(name: string, networkId: string, prefix: 'qdhcp' | 'ovnmeta'): DemoCluster {
    const certificates = clusterCertificates(this.directory, name);
    return { name, networkId, netns: `${prefix}-${networkId}`, certificates };
  }

  /** Adds the tenant's network to this node, as Neutron does when it schedules it. */
  attachNetwork({ netns }: DemoCluster): void {
    ip('netns', 'add', netns);
    ip('-n', netns, 'link', 'set', 'lo', 'up');
    ip('-n', netns, 'address', 'add', `${SHARED_ADDRESS}/32`, 'dev', 'lo');
  }

  async startApiServer({ name, netns, certificates: { server, ca } }: DemoCluster): Promise<void> {
    const files = [server.certFile, server.keyFile, ca.certFile];
    await this.#start(netns, name, './demo-api-server.ts', [name, ...files, SHARED_ADDRESS, `${API_PORT}`]);
  }

  async killApiServer({ name }: DemoCluster): Promise<void> {
    await this.#kill(name);
  }

  /** Adds the machine's address to the cluster's network if it is missing. */
  async startMachine({ netns }: DemoCluster, { name, address, port }: DemoMachine): Promise<void> {
    if (!this.addressesOf(netns).includes(`${address}/`))
      ip('-n', netns, 'address', 'add', `${address}/32`, 'dev', 'lo');
    await this.#start(netns, name, './demo-machine.ts', [name, address, `${port}`]);
  }

  async killMachine({ name }: DemoMachine): Promise<void> {
    await this.#kill(name);
  }

  async #start(netns: string, name: string, script: string, args: readonly string[]): Promise<void> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn('ip', ['netns', 'exec', netns, process.execPath, path, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#servers.set(name, child);
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(([code]) =>
        Promise.reject(new Error(`the server of ${name} ended with ${code}`)),
      ),
    ]);
  }

  async #kill(name: string): Promise<void> {
    const child = this.#servers.get(name);
    if (child === undefined) throw new Error(`${name} has no server`);
    this.#servers.delete(name);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** The IPv4 addresses inside a netns, as `ip` prints them. */
  addressesOf(netns: string): string {
    return ip('-n', netns, '-4', '-brief', 'address', 'show', 'dev', 'lo').trim().replace(/\s+/g, ' ');
  }

  /** Tries a plain connection from outside every tenant's netns. Resolves with the error code, or null on success. */
  connectionError(): Promise<string | null> {
    return new Promise((resolve) => {
      const socket = connect({ host: SHARED_ADDRESS, port: API_PORT, timeout: 1000 });
      const done = (error: string | null) => {
        socket.destroy();
        resolve(error);
      };
      socket.once('connect', () => done(null));
      socket.once('timeout', () => done('ETIMEDOUT'));
      socket.once('error', ({ code, message }: NodeJS.ErrnoException) => done(code ?? message));
    });
  }

  destroy(): void {
    for (const server of this.#servers.values()) server.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function ip(...args: string[]): string {
  return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
