// Starts a TCP connection inside a network namespace. Only numeric addresses: a resolver would ask in the wrong netns.
import { closeSync } from 'node:fs';
import { isIP, Socket } from 'node:net';
import type { NetnsHandles } from './netns-handles.ts';
import type { NetnsRef } from './netns-ref.ts';

export interface DialTarget {
  readonly address: string;
  readonly port: number;
  /** null dials in the process's own netns. */
  readonly netns: NetnsRef | null;
}

export interface DialOptions {
  readonly allowHalfOpen: boolean;
}

/**
 * Returns a socket that is connecting. Throws what the netns or the socket call had to say (`code`, `syscall`), or a plain
 * error for an address that is not numeric; whether the connection succeeds is told by the socket's events.
 */
export function dial(handles: NetnsHandles, target: DialTarget, options: DialOptions): Socket {
  const family = isIP(target.address);
  if (family !== 4 && family !== 6) throw new Error(`not an IP address: ${target.address}`);
  if (target.netns === null) {
    const plain = new Socket({ allowHalfOpen: options.allowHalfOpen });
    return plain.connect({ host: target.address, port: target.port });
  }
  const fd = handles.createTcpSocket(target.netns, family);
  let socket: Socket | null = null;
  try {
    // manualStart: without it Node starts reading from the unconnected socket and the later connect fails with ENOTCONN.
    socket = new Socket({
      fd,
      manualStart: true,
      allowHalfOpen: options.allowHalfOpen,
    } as ConstructorParameters<typeof Socket>[0]);
    return socket.connect({ host: target.address, port: target.port });
  } catch (error) {
    // Nobody else knows the descriptor yet.
    if (socket === null) closeSync(fd);
    else socket.destroy();
    throw error;
  }
}
