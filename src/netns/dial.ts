// Starts a TCP connection inside a network namespace. Accepts only numeric addresses, because a resolver would run in the wrong netns.
import { closeSync } from 'node:fs';
import { isIP, Socket } from 'node:net';
import type { NetnsHandles } from './netns-handles.ts';
import type { NetnsRef } from './netns-ref.ts';

export interface DialTarget {
  readonly address: string;
  readonly port: number;
  /** null: dial in the process's own netns. */
  readonly netns: NetnsRef | null;
}

export interface DialOptions {
  readonly allowHalfOpen: boolean;
}

/**
 * Returns a connecting socket; its events report the result. Throws the error of the netns or socket call (`code`, `syscall`),
 * or a plain error if the address is not numeric.
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
    // Without manualStart, Node reads from the unconnected socket and the later connect fails with ENOTCONN.
    socket = new Socket({
      fd,
      manualStart: true,
      allowHalfOpen: options.allowHalfOpen,
    } as ConstructorParameters<typeof Socket>[0]);
    return socket.connect({ host: target.address, port: target.port });
  } catch (error) {
    // Without a Socket, the descriptor has no other owner yet.
    if (socket === null) closeSync(fd);
    else socket.destroy();
    throw error;
  }
}
