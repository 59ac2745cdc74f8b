// The default check: does the backend's kernel answer our SYN? Made so that the backend's program never learns of it.
import type { NativeAddon } from '../netns/native.ts';
import type { Check } from './probe-check.ts';

/**
 * kube-apiserver logs "http: TLS handshake error from …: EOF" for every connection that is opened and closed. So ours is never
 * accepted: with TCP_QUICKACK off before connect() the kernel holds the handshake's last ACK back (up to 200 ms, hoping to send
 * it along with data), and the reset that we send instead removes the half-open connection from the server's SYN queue:
 *
 *   SYN →   ← SYN+ACK   RST →        accept() returns nothing, nothing is logged
 *
 * When we are too slow and the ACK escapes, the server logs one line and the check passes all the same. What this cannot see is
 * a program that hangs behind a listening socket (until its accept queue is full): `--health tls` does.
 */
export function tcpCheck(addon: Pick<NativeAddon, 'setQuickAck'>): Check {
  return {
    beforeConnect: (fd) => {
      try {
        addon.setQuickAck(fd, false);
      } catch {
        // Only the silence is lost: whether the backend can be reached is told by the connect all the same.
      }
    },
    connected: (socket, _target, passed) => {
      passed();
      socket.resetAndDestroy();
    },
  };
}
