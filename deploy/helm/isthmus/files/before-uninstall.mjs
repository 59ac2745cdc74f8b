// Runs in a Job before `helm uninstall`: Helm deletes the rights right after the DaemonSet, and without them the Pods could not withdraw
// their EndpointSlices. So this program deletes the DaemonSet first, and waits until the Pods have ended.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';

const {
  KUBERNETES_SERVICE_HOST: host,
  KUBERNETES_SERVICE_PORT: port,
  DAEMONSET: path,
  WAIT_SECONDS,
} = process.env;
const account = (file) => readFileSync(`/var/run/secrets/kubernetes.io/serviceaccount/${file}`, 'utf8');

function ask(method, query = '') {
  const headers = { authorization: `Bearer ${account('token')}` };
  const options = {
    host,
    port,
    method,
    headers,
    path: `${path}${query}`,
    ca: account('ca.crt'),
    timeout: 10_000,
  };
  return new Promise((resolve, reject) => {
    const asked = request(options, (answer) => answer.resume().on('end', () => resolve(answer.statusCode)));
    asked.on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer in 10 s`)));
    asked.on('error', reject).end();
  });
}

const deleted = await ask('DELETE', '?propagationPolicy=Foreground');
if (![200, 202, 404].includes(deleted)) throw new Error(`DELETE ${path}: status ${deleted}`);
// Pods that handed over may drain for an hour. They have nothing to withdraw, so this wait has an end.
for (const end = Date.now() + WAIT_SECONDS * 1000; Date.now() < end && (await ask('GET')) !== 404; )
  await wait(500);
