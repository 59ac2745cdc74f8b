// `isthmus doctor`: checks everything that `isthmus run` needs with the same flags and reports what to change. It changes nothing.
import { hostname } from 'node:os';
import { isReachableAt, unreachableAdvice } from '../../control/instance/address-reach.ts';
import { advertisedAddress } from '../../control/instance/advertise-address.ts';
import { hostIdentity, readDefaultRouteAddress } from '../../control/instance/this-host.ts';
import { instanceName } from '../../control/objects/instance-name.ts';
import type { RunConfig } from '../config/config.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { type Check, ok, problem, warning } from './check.ts';
import { apiCheck, clockCheck, credentialsCheck, definitionCheck, loginCheck } from './kubernetes-checks.ts';
import { KubernetesVisit } from './kubernetes-visit.ts';
import {
  addonCheck,
  configurationCheck,
  dateCheck,
  descriptorCheck,
  type LoadedAddon,
  nodeCheck,
  setnsCheck,
} from './machine-checks.ts';
import { manifestCheck } from './manifest-check.ts';
import { namespaceCheck } from './namespace-check.ts';
import { netnsCheck, seemsContainer } from './netns-check.ts';
import { nodeNameCheck } from './node-name-check.ts';
import { portCheck, runningIsthmus } from './port-checks.ts';
import { isWell, reportJson, resultText, summaryText } from './report.ts';
import { rightsCheck } from './rights-check.ts';
import { runChecks } from './run-checks.ts';

export interface DoctorOptions {
  /** With the default in place of each value that `problems` names. */
  readonly config: RunConfig;
  readonly problems?: readonly string[];
  /** From reading the configuration. */
  readonly warnings: readonly string[];
  /** Where settings come from besides the command line and the environment of this command, for the report. */
  readonly sources?: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly json: boolean;
  readonly print: (text: string) => void;
  /** Prints messages that are not part of the report. */
  readonly tell: (text: string) => void;
  readonly wallNow?: () => number;
  /** The boot id of this host. */
  readonly host?: string;
  /** How long to wait for a Lease renewal by another process with the same instance name. */
  readonly patienceMs?: number;
}

const CHECK_MS = 5000;

export async function doctor(options: DoctorOptions): Promise<ExitCode> {
  const { version, json, print, tell } = options;
  const visit = new KubernetesVisit();
  const checks = checksFor(options, visit);
  const width = Math.max(...checks.map(({ name }) => name.length));
  const results = await runChecks(checks, {
    timeoutMs: CHECK_MS,
    onResult: (result) => {
      if (!json) print(resultText(result, width));
    },
    onWaiting: (names) => tell(`… still checking ${names.join(', ')}\n`),
  });
  print(json ? reportJson(version, results) : summaryText(results));
  await visit.close();
  if ((options.problems ?? []).length > 0) return EXIT.invalid;
  return isWell(results) ? EXIT.ok : EXIT.failed;
}

/** In the order of the report. Each check comes after the checks it depends on. */
function checksFor(options: DoctorOptions, visit: KubernetesVisit): readonly Check[] {
  const { config, environment, wallNow = Date.now } = options;
  const { source, listen, admin, healthListen } = config;
  const loaded: LoadedAddon = { addon: null };
  const inContainer = seemsContainer(environment);
  const running = runningIsthmus(admin);
  return [
    configurationCheck(options),
    nodeCheck(process.versions.node, process.execPath),
    dateCheck(wallNow),
    addonCheck(loaded),
    setnsCheck(loaded),
    netnsCheck({
      directory: config.netnsDirectory,
      addedPrefixes: config.netnsPrefixes,
      loaded,
      inContainer,
    }),
    descriptorCheck(config.maxConnections),
    portCheck({ flag: 'listen', endpoint: listen, running }),
    portCheck({ flag: 'admin', endpoint: admin, running }),
    ...(healthListen === null ? [] : [portCheck({ flag: 'health-listen', endpoint: healthListen, running })]),
    ...(source.kind === 'file'
      ? [
          manifestCheck(source.directory, {
            proxyAlways: config.proxyAlways,
            trustSpecNetwork: config.trustSpecNetwork,
            ignoredLabels: new Set(config.ignoredSelectorLabels),
          }),
        ]
      : kubernetesChecks(options, visit)),
  ];
}

function kubernetesChecks(
  { config, environment, version, wallNow = Date.now, host = hostIdentity(), patienceMs }: DoctorOptions,
  visit: KubernetesVisit,
): readonly Check[] {
  const { namespace, nodeName } = config;
  const running = () => runningIsthmus(config.admin);
  const instance = instanceName({ nodeName, hostname: hostname() });
  return [
    addressCheck(config),
    credentialsCheck(visit, { config, environment, version }),
    apiCheck(visit, wallNow),
    clockCheck(visit),
    loginCheck(visit),
    definitionCheck(visit),
    namespaceCheck(visit, config),
    rightsCheck(visit, config),
    nodeNameCheck(visit, {
      ...{ instance, host, namespace, running, wallNow },
      ...(patienceMs === undefined ? {} : { patienceMs }),
    }),
  ];
}

function addressCheck({ advertiseAddress, podIp, listen }: RunConfig): Check {
  return {
    name: 'address',
    run: async () => {
      const defaultRoute = await readDefaultRouteAddress();
      const choice = advertisedAddress({
        flag: advertiseAddress,
        podIp,
        listenHost: listen.host,
        defaultRoute,
      });
      if (choice.kind === 'none')
        return problem(
          `there is no address to publish: ${choice.reason}`,
          'Set --advertise-address (in a Pod: POD_IP from status.podIP) to an address that every node reaches.',
        );
      const { address, from } = choice;
      if (listen.host === undefined || isReachableAt(listen.host, address))
        return ok(`clients connect to ${address} (from ${from})`);
      // Only a warning: a proxy in front may forward the clients, and a systemd socket listens on the address of its unit.
      const { found, fix } = unreachableAdvice(listen.host, address, from);
      return warning(found, fix);
    },
  };
}
