// Provides Helm, built from Go modules (test/e2e/helm), and the CustomResourceDefinitions of the Prometheus operator, from its module.
// Both are fetched once, outside the work tree. Only this step needs Go and the network.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from '../setup/lock.mjs';
import { onPath } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';
import { cacheDirectory, ensureBuild } from './testbed.mjs';

/** Returns the environment variable that tells the tests where Helm is. A Helm named in ISTHMUS_HELM is used unchanged. */
export async function ensureHelm() {
  const { ISTHMUS_HELM: given } = process.env;
  if (given) return { ISTHMUS_HELM: given };
  // Helm's own Makefile sets these versions. Without them, Helm assumes that every cluster runs Kubernetes 1.20.
  const stamps = ['pkg/chartutil', 'pkg/lint/rules']
    .map((at) => `helm.sh/helm/v3/${at}`)
    .map((at) => ` -X ${at}.k8sVersionMajor=1 -X ${at}.k8sVersionMinor=${kubernetesMinor()}`)
    .join('');
  const title = 'building Helm from Go modules (1 to 5 minutes, once)';
  return { ISTHMUS_HELM: await ensureBuild('helm', stamps, title, 'helm.sh/helm/v3/cmd/helm') };
}

function kubernetesMinor() {
  const module = readFileSync(join(root, 'test', 'e2e', 'helm', 'go.mod'), 'utf8');
  const found = /^\s*k8s\.io\/client-go v0\.(\d+)\./m.exec(module);
  if (found === null) throw new Error('test/e2e/helm/go.mod requires no k8s.io/client-go');
  return found[1];
}

const OPERATOR = {
  module: 'github.com/prometheus-operator/prometheus-operator',
  version: 'v0.85.0',
  sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
};
const KINDS = ['podmonitors', 'servicemonitors', 'prometheusrules'];

/** Returns the directory of the PodMonitor and related definitions; empty if unavailable, and the tests report that. */
export async function ensureMonitoringDefinitions() {
  const cache = cacheDirectory();
  const home = join(cache, `monitoring-definitions-${OPERATOR.version}`);
  mkdirSync(cache, { recursive: true });
  try {
    await withLock(`${home}.lock`, async () => {
      if (!existsSync(home)) fetchDefinitions(home);
    });
    return { ISTHMUS_MONITORING_DEFINITIONS: home };
  } catch (error) {
    process.stderr.write(`· the definitions of the Prometheus operator cannot be had: ${error.message}\n`);
    return {};
  }
}

function fetchDefinitions(home) {
  if (!onPath('go')) throw new Error('`go` is not on the PATH');
  process.stderr.write('· fetching the definitions of the Prometheus operator …\n');
  const what = `${OPERATOR.module}@${OPERATOR.version}`;
  const env = { ...process.env, GOFLAGS: '-mod=mod' };
  const answer = execFileSync('go', ['mod', 'download', '-json', what], { encoding: 'utf8', env, cwd: '/' });
  const { Dir, Sum } = JSON.parse(answer);
  if (Sum !== OPERATOR.sum) throw new Error(`${what} is another than it was: ${Sum}`);
  const unfinished = `${home}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished);
  for (const kind of KINDS) {
    const file = `monitoring.coreos.com_${kind}.yaml`;
    copyFileSync(join(Dir, 'example', 'prometheus-operator-crd', file), join(unfinished, file));
  }
  renameSync(unfinished, home);
}
