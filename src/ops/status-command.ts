// `isthmus status`: asks the admin port of a running proxy and prints it for a person.
import { formatProblems } from '../config/config.ts';
import { type Endpoint, endpoint } from '../config/values.ts';
import { endpointText } from '../routing/endpoint.ts';
import { askAdmin } from './admin-client.ts';
import type { StatusView } from './status.ts';

export async function showStatus(args: readonly string[]): Promise<number> {
  const json = args.includes('--json');
  const rest = args.filter((arg) => arg !== '--json');
  const inline = rest[0]?.startsWith('--admin=') ? rest[0].slice('--admin='.length) : undefined;
  const flag = inline ?? (rest[0] === '--admin' ? rest[1] : undefined);
  const variable = process.env.ISTHMUS_ADMIN;
  const text = flag ?? variable ?? '127.0.0.1:9580';
  const read = endpoint(text);
  const expected = inline === undefined ? (rest[0] === '--admin' ? 2 : 0) : 1;
  if (rest.length !== expected) {
    process.stderr.write('isthmus status takes --admin <addr:port> and --json, nothing else\n');
    return 2;
  }
  if ('wanted' in read) {
    const where = flag === undefined && variable !== undefined ? 'ISTHMUS_ADMIN' : '--admin';
    process.stderr.write(`${formatProblems([{ where, value: text, wanted: read.wanted }])}\n`);
    return 2;
  }
  const { host = '127.0.0.1', port } = read.value;
  const shown = endpointText({ address: host, port });
  try {
    const status = await fetchStatus(read.value);
    process.stdout.write(json ? `${JSON.stringify(status, null, 2)}\n` : statusText(status));
    return status.ready ? 0 : 1;
  } catch (error) {
    process.stderr.write(
      `no proxy answers at ${shown} (${(error as Error).message}); is it running? --admin names its port\n`,
    );
    return 1;
  }
}

async function fetchStatus(endpoint: Endpoint): Promise<StatusView> {
  const { body } = await askAdmin(endpoint, '/status');
  try {
    return JSON.parse(body) as StatusView;
  } catch {
    throw new Error('the answer is no status');
  }
}

export function statusText(status: StatusView): string {
  const ready = status.ready ? 'ready' : `not ready: ${status.notReadyBecause ?? 'unknown'}`;
  const lines = [
    `isthmus ${status.version} on ${status.instance}, listening on ${status.listen ?? 'nothing yet'}: ${ready}`,
    `${status.clusters.length} clusters, ${status.connections} open connections`,
  ];
  if (status.control.stalledSince !== null)
    lines.push(
      `the control loop has not answered since ${status.control.stalledSince}: what follows is older`,
    );
  const width = Math.max(7, ...status.clusters.map(({ name }) => name.length));
  for (const cluster of status.clusters) {
    const via =
      cluster.state === 'serving'
        ? `${cluster.backend} in ${cluster.netns}, ${cluster.connections} connections`
        : cluster.reason;
    lines.push(`  ${cluster.name.padEnd(width)}  ${cluster.state.padEnd(11)}  ${via}`);
  }
  for (const { origin, reason } of status.problems) lines.push(`  ! ${origin}: ${reason}`);
  return `${lines.join('\n')}\n`;
}
