// The check on request (`--health tls`): a whole TLS handshake, closed cleanly. It asks whether somebody speaks TLS there, never who:
// each workload cluster's certificate is signed by that cluster's own CA, which we neither have nor need, since clients verify.
import { isIP } from 'node:net';
import type { Check } from './probe-check.ts';

export const tlsCheck: Check = {
  connected: (socket, target, passed, failed) => {
    // Late: who does not ask for this check need not load TLS, which is 3 MB.
    const secure = process.getBuiltinModule('node:tls').connect({
      socket,
      rejectUnauthorized: false,
      // RFC 6066 section 3 forbids addresses as server names, and Node throws on them.
      ...(isIP(target.serverName) === 0 && { servername: target.serverName }),
    });
    secure.on('error', failed);
    secure.on('secureConnect', () => {
      passed();
      // close_notify, then FIN: to the API server a client that had nothing to ask, which it does not log.
      secure.end();
    });
    secure.resume(); // session tickets and the server's own close_notify must be read, or our close turns into a reset
  },
};
