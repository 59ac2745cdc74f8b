// Stands in for a cluster's kube-apiserver in the demo: an HTTPS server that says which cluster it is and whom it takes the client
// for. A process of its own inside the cluster's netns: demo-api-server <cluster> <certificate> <key> <CA> <address> <port>.
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
    // As kube-apiserver has it: whoever shows no certificate of this CA is nobody in particular.
    requestCert: true,
    rejectUnauthorized: false,
  },
  (request, response) => {
    const socket = request.socket as TLSSocket;
    const user = socket.authorized
      ? String(socket.getPeerCertificate().subject?.CN ?? '')
      : 'system:anonymous';
    // The first three so that `kubectl version` can read it.
    const version = { major: '1', minor: '35', gitVersion: `v1.35.0-demo+${cluster}` };
    response.setHeader('Content-Type', 'application/json');
    response.end(`${JSON.stringify({ ...version, cluster, user, path: request.url })}\n`);
  },
);
server.listen(Number(port), address, () => process.stdout.write('listening\n'));
