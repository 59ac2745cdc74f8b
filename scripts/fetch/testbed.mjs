// Provides the real Kubernetes and CoreDNS of the end-to-end tests, built from Go modules (test/e2e/testbed). Only this step needs Go and
// the network. The tests run in the sandbox, which has no network.
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuild, sourcesOf } from './go-build.mjs';

/** The programs that the tests start. If the directory in KUBEBUILDER_ASSETS holds all of them, no build is needed. */
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-proxy', 'kubectl', 'coredns'];
/** Two more for the tests with real nodes. */
export const NODE_COMPONENTS = ['kube-scheduler', 'kubelet'];

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function kubernetesStamps() {
  const sources = sourcesOf('testbed');
  const module = readFileSync(join(sources, 'go.mod'), 'utf8');
  const version = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\S+)$/m.exec(module);
  if (version === null) throw new Error(`${sources}/go.mod requires no k8s.io/kubernetes`);
  const at = 'k8s.io/component-base/version';
  return ` -X ${at}.gitVersion=${version[1]} -X ${at}.gitMajor=${version[2]} -X ${at}.gitMinor=${version[3]}`;
}

/** Returns the environment variable that tells the tests where their components are. */
export async function ensureTestbed(more = []) {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets && [...COMPONENTS, ...more].every((name) => isExecutable(join(assets, name)))) {
    process.stderr.write(`· the components of ${assets} (KUBEBUILDER_ASSETS) are used\n`);
    return { ISTHMUS_TESTBED_ASSETS: assets };
  }
  const title = 'building kube-apiserver, etcd and the others from Go modules (6 to 15 minutes, once)';
  return { ISTHMUS_TESTBED: await ensureBuild('testbed', { title, stamps: kubernetesStamps() }) };
}
