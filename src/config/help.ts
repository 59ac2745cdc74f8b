// The help of the command line, made from the table of flags. It fits on a screen and teaches by examples.
import { FLAG_NAMES, FLAGS, type Flag } from './flags.ts';

export const MAIN_HELP = `isthmus: reaches isolated Kubernetes clusters by the server name in the TLS ClientHello,
through the network namespaces of an OpenStack network node.

Usage: isthmus <command> [flags]

  run       the proxy                             isthmus run --source file:/etc/isthmus/clusters
  status    what a running proxy says of itself   isthmus status --admin 127.0.0.1:9580
  demo      two clusters with one address, both reached by name (npm run demo prepares the machine)
  version   the version

isthmus <command> --help tells more.
`;

export const STATUS_HELP = `isthmus status: asks a running proxy how each of its clusters is, and why

Usage: isthmus status [--admin <addr:port>] [--json]

  isthmus status
  isthmus status --admin 127.0.0.1:9580 --json | jq '.clusters[] | select(.state != "serving")'

Exit code: 0 when the proxy is ready, 1 when it is not or does not answer.
`;

export function runHelp(): string {
  const lines = [
    'isthmus run: one TCP port, many isolated clusters; the TLS server name picks the cluster,',
    'and the connection is opened inside the netns that reaches it.',
    '',
    '  isthmus run --source file:/etc/isthmus/clusters',
    '  isthmus run --source file:./clusters --listen 127.0.0.1:16443 --log-level debug',
    '  kubectl get openstackcluster -A -o yaml > clusters/all.yaml     # reloaded while it runs',
    '  isthmus status                                                  # why is my cluster not reachable?',
  ];
  let group = '';
  for (const name of FLAG_NAMES) {
    const flag: Flag<unknown> = FLAGS[name];
    if (flag.group !== group) {
      group = flag.group;
      lines.push(group);
    }
    const fallback = flag.placeholder === '' || flag.fallback === null ? '' : ` (${flag.fallback})`;
    const usage = `  --${name} ${flag.placeholder}`.padEnd(36);
    lines.push(`${usage} ${flag.required ? 'required: ' : ''}${flag.help}${fallback}`);
  }
  lines.push(
    'Each flag is a variable too (ISTHMUS_HEALTH_INTERVAL=5s); the flag wins. PROXY_PORT, PROXY_BIND and',
    'PROXY_ALWAYS of magnum-cluster-api-proxy work as well. Exit code 2: the configuration is wrong.',
  );
  return `${lines.join('\n')}\n`;
}
