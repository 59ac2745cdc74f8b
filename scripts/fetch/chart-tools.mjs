// Provides what the tests of the Helm chart need: Helm and promtool, built from Go modules (test/e2e/helm, test/e2e/promtool), and the
// CustomResourceDefinitions of the Prometheus operator, from its module.
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, goModule } from './downloader.mjs';
import { ensureBuild, ensureGo, sourcesOf } from './go-build.mjs';

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
  return { ISTHMUS_HELM: await ensureBuild('helm', { title, stamps, target: 'helm.sh/helm/v3/cmd/helm' }) };
}

function kubernetesMinor() {
  const module = readFileSync(join(sourcesOf('helm'), 'go.mod'), 'utf8');
  const found = /^\s*k8s\.io\/client-go v0\.(\d+)\./m.exec(module);
  if (found === null) throw new Error('test/e2e/helm/go.mod requires no k8s.io/client-go');
  return found[1];
}

/** Returns the environment variable that tells the tests where promtool is. One named in ISTHMUS_PROMTOOL is used unchanged. */
export async function ensurePromtool() {
  const { ISTHMUS_PROMTOOL: given } = process.env;
  if (given) return { ISTHMUS_PROMTOOL: given };
  const title = 'building promtool from Go modules (1 to 4 minutes, once)';
  const target = 'github.com/prometheus/prometheus/cmd/promtool';
  // The tag leaves out service discovery for all clouds: the tests use none of them.
  return { ISTHMUS_PROMTOOL: await ensureBuild('promtool', { title, target, tags: ['remove_all_sd'] }) };
}

const OPERATOR = {
  module: 'github.com/prometheus-operator/prometheus-operator',
  version: 'v0.85.0',
  sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
};
const KINDS = ['podmonitors', 'servicemonitors', 'prometheusrules'];

/** Returns the directory of the PodMonitor and related definitions; empty if unavailable, and the tests report that. */
export async function ensureMonitoringDefinitions() {
  try {
    const home = await cached(`monitoring-definitions-${OPERATOR.version}`, async (directory) => {
      const module = await goModule(await ensureGo(), OPERATOR);
      mkdirSync(directory);
      for (const file of KINDS.map((kind) => `monitoring.coreos.com_${kind}.yaml`))
        copyFileSync(join(module, 'example', 'prometheus-operator-crd', file), join(directory, file));
    });
    return { ISTHMUS_MONITORING_DEFINITIONS: home };
  } catch (error) {
    process.stderr.write(`! the definitions of the Prometheus operator are unavailable: ${error.message}\n`);
    return {};
  }
}
