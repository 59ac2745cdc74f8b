// Replaces a cluster's kube-apiserver in the demo: an HTTPS server that answers with its cluster name and the authenticated user.
// A separate process in the cluster's netns: demo-api-server <cluster> <certificate> <key> <CA> <address> <port>.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';

const [cluster, certificate, key, ca, address, port] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const server = createServer(
  {
    cert: readFileSync(certificate),
    key: readFileSync(key),
    ca: readFileSync(ca),
    // As in kube-apiserver: a client without a certificate of this CA is anonymous.
    requestCert: true,
    rejectUnauthorized: false,
  },
  (request, response) => {
    const socket = request.socket as TLSSocket;
    const user = socket.authorized
      ? String(socket.getPeerCertificate().subject?.CN ?? '')
      : 'system:anonymous';
    // `kubectl version` needs these three fields.
    const version = { major: '1', minor: '35', gitVersion: `v1.35.0-demo+${cluster}` };
    response.setHeader('Content-Type', 'application/json');
    response.end(`${JSON.stringify({ ...version, cluster, user, path: request.url })}\n`);
  },
);
server.listen(Number(port), address, () => process.stdout.write('listening\n'));
