// The help of the command line: fixed texts with examples, and the flags of `isthmus run` from the table of flags.
import { flagReference } from './config/flags.ts';
import type { CommandName } from './exit-codes.ts';

/** The width of the longest usage. The help text after it must fit into a terminal of 80 columns. */
const USAGE_WIDTH = 35;

export const MAIN_HELP = `isthmus: reaches isolated Kubernetes clusters by the server name in the TLS
ClientHello, through the network namespaces of an OpenStack network node.

Usage: isthmus <command> [flags]

  run       run the proxy              isthmus run --source file:./clusters
  status    show the state of a proxy  isthmus status --admin 127.0.0.1:9580
  top       show its live traffic      isthmus top --sort bytes
  explain   find a broken link         isthmus explain my-cluster
  doctor    check this machine         isthmus doctor --source file:./clusters
  reload    upgrade without downtime   isthmus reload --handover /run/isthmus
  demo      say how to start the demo  isthmus demo
  version   print the version

isthmus <command> --help shows the details.
`;

const DEMO = `isthmus demo: the demo is part of the source, not of the installed program.
Start it from a clone of the repository:

  git clone <repository> isthmus
  cd isthmus
  npm run demo
`;

const STATUS = `isthmus status: shows the state of each cluster of a running proxy, and why

Usage: isthmus status [--admin <addr:port>] [--json]

  isthmus status --admin 127.0.0.1:9580
  isthmus status --json | jq '.clusters[] | select(.state != "serving")'

Exit code: 0 when the proxy is ready, 1 when it is not or does not answer.
`;

const TOP = `isthmus top: shows the activity of a running proxy, updated every second

Usage: isthmus top [--interval <duration>] [--sort <key>] [--once] [--json]
                   [--admin <addr:port>]

  isthmus top
  kubectl -n magnum-system exec -it daemonset/isthmus -- isthmus top
  isthmus top --once --interval 10s | grep unhealthy
  isthmus top --json | jq '.clusters[] | select(.newPerSecond > 100) | .name'

  --interval <duration>   from 200ms to 60s (1s)
  --sort <key>            connections, rate, bytes, name or state (connections)
  --once                  print one interval as text; the default in a pipe
  --json                  print the same as JSON

Keys: c connections, r rate, b bytes, n name, s state (worst first), q quit.
open: connections now. new/s: new connections. fail/s: those not served.
in/s, out/s: bytes from and to clients, counted when a connection ends, so a
long transfer shows at its end. up: backends that pass their checks. -: not
known yet. A narrow terminal hides the netns.
NO_COLOR=1 disables the colours.
Exit code: 0, or 1 when no proxy answers.
`;

const EXPLAIN = `isthmus explain: why is my cluster not reachable? Asks a running proxy, and
shows every link from the object to the kubeconfig, the first broken one first

Usage: isthmus explain <cluster> [--admin <addr:port>] [--json]

  isthmus explain my-cluster
  isthmus explain my-cluster.magnum-system --admin 127.0.0.1:9580
  isthmus explain --json my-cluster | jq .broken

Exit code: 0 when every link works, 1 when one is broken, the cluster is not
known, or no proxy answers.
`;

const DOCTOR = `isthmus doctor: checks this machine, its network namespaces and the Kubernetes
API, and says what to change for isthmus run. It changes nothing itself.

Usage: isthmus doctor [--json] [the flags of isthmus run]

  isthmus doctor --kubeconfig /etc/isthmus/kubeconfig --node-name net-1
  isthmus doctor --source file:./clusters --listen 127.0.0.1:16443
  isthmus doctor --json | jq '.checks[] | select(.result == "problem")'

It takes the flags and variables of isthmus run. It also reads the settings in
/etc/default/isthmus, and in a container the flags of the first process. If a
setting is wrong, the other checks use the default in its place.
Exit code: 0 without a problem, 1 with one, 2 when a setting is wrong.
`;

const RELOAD = `isthmus reload: the running proxy starts the program that is on disk now, and
hands over to it. No connection is refused, and open connections continue.

Usage: isthmus reload --handover <dir> [--with-environment]

  isthmus reload --handover /run/isthmus
  systemctl reload isthmus              # the same, for the packaged unit

The proxy must run with the same --handover. --with-environment: the successor
gets the settings (ISTHMUS_*, KUBECONFIG, …) of this command's environment in
place of those of the running proxy. The flags of the proxy do not change.
Exit code: 0 when the successor serves, 1 when the old process continues.
`;

function runHelp(): string {
  const lines = [
    'isthmus run: one TCP port for many isolated clusters. The server name selects',
    'the cluster, and Isthmus opens the connection inside the netns that reaches it.',
    '',
    '  isthmus run                         # in a pod: clusters from Kubernetes',
    '  isthmus run --kubeconfig /etc/isthmus/kubeconfig --node-name net-1',
    '  kubectl get openstackcluster -A -o yaml > clusters/all.yaml',
    '  isthmus run --source file:./clusters --listen 127.0.0.1:16443',
    '  isthmus explain my-cluster          # why is my cluster not reachable?',
  ];
  let group = '';
  for (const flag of flagReference()) {
    if (flag.group !== group) {
      group = flag.group;
      lines.push(group);
    }
    const fallback = flag.placeholder === '' || flag.fallback === '' ? '' : ` (${flag.fallback})`;
    const usage = `  ${flag.name} ${flag.placeholder}`.padEnd(USAGE_WIDTH);
    lines.push(`${usage} ${flag.help}${fallback}`);
  }
  lines.push(
    'Each flag is a variable too (ISTHMUS_HEALTH_INTERVAL=5s); the flag wins. The',
    'variables of magnum-cluster-api-proxy work too: PROXY_PORT, PROXY_BIND,',
    'PROXY_ALWAYS, POD_IP, KUBECONFIG. Exit code 2: the configuration is wrong.',
  );
  return `${lines.join('\n')}\n`;
}

/** What `isthmus <command> --help` prints. */
export const HELP: Readonly<Record<Exclude<CommandName, 'version'>, string>> = {
  run: runHelp(),
  status: STATUS,
  top: TOP,
  explain: EXPLAIN,
  doctor: DOCTOR,
  reload: RELOAD,
  demo: DEMO,
};
