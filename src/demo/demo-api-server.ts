// Stands in for a cluster's kube-apiserver in the demo: an HTTPS server that says which cluster it is. Runs as a process of its
// own inside the cluster's netns: demo-api-server <cluster> <certificate> <key> <address> <port>.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const [cluster, certificate, key, address, port] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const server = createServer(
  { cert: readFileSync(certificate), key: readFileSync(key) },
  (request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(
      `${JSON.stringify({ cluster, path: request.url, seenFrom: request.socket.remoteAddress })}\n`,
    );
  },
);
server.listen(Number(port), address, () => process.stdout.write('listening\n'));
