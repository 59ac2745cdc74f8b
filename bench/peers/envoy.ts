// Envoy with tls_inspector and tcp_proxy. It creates its upstream sockets in the tenant's netns (network_namespace_filepath of the
// source address).
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Site, TENANT_ADDRESS, TENANT_PORT } from '../harness/site.ts';
import type { Program } from '../harness/tools.ts';
import type { PeerProgram } from './peer.ts';
import { nextPort, startProcess } from './running.ts';

export function envoy(program: Program): PeerProgram {
  return {
    name: 'envoy',
    entersNetns: true,
    version: () =>
      /version: [0-9a-f]+\/([^/]+)/.exec(
        execFileSync(program.path, ['--version'], { encoding: 'utf8' }),
      )?.[1] ?? 'unknown',
    start: async (site) => {
      const port = nextPort();
      const file = join(site.directory, `envoy-${port}.json`);
      writeFileSync(file, JSON.stringify(configuration(site, port)));
      const args = ['-c', file, '--concurrency', String(site.needs.threads), '--log-level', 'error'];
      return startProcess('envoy', site, port, program, [
        ...args,
        '--disable-hot-restart',
        '--use-dynamic-base-id',
      ]);
    },
  };
}

const typed = (name: string, value: object = {}): object => ({
  '@type': `type.googleapis.com/${name}`,
  ...value,
});

function configuration(site: Site, port: number): object {
  const chain = ({ name, serverName }: Site['clusters'][number]): object => ({
    filter_chain_match: { server_names: [serverName] },
    filters: [
      {
        name: 'envoy.filters.network.tcp_proxy',
        typed_config: typed('envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
          stat_prefix: 'bench',
          cluster: name,
        }),
      },
    ],
  });
  const cluster = ({ name, netns }: Site['clusters'][number]): object => ({
    name,
    type: 'STATIC',
    connect_timeout: '5s',
    circuit_breakers: { thresholds: [{ max_connections: 20_000, max_pending_requests: 20_000 }] },
    upstream_bind_config: {
      source_address: {
        address: '0.0.0.0',
        port_value: 0,
        network_namespace_filepath: `/run/netns/${netns}`,
      },
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [
        {
          lb_endpoints: [
            {
              endpoint: { address: { socket_address: { address: TENANT_ADDRESS, port_value: TENANT_PORT } } },
            },
          ],
        },
      ],
    },
  });
  return {
    static_resources: {
      listeners: [
        {
          name: 'in',
          address: { socket_address: { address: '127.0.0.1', port_value: port } },
          listener_filters: [
            {
              name: 'envoy.filters.listener.tls_inspector',
              typed_config: typed('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector'),
            },
          ],
          filter_chains: site.clusters.map(chain),
        },
      ],
      clusters: site.clusters.map(cluster),
    },
  };
}
