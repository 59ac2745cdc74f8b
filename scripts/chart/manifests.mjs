// Renders the plain manifests of deploy/ from the Helm chart, so both have one source. As a program, it writes the files; the tests
// import it to compare them. Only the hash of the sources and the chart's copies work without Helm (ISTHMUS_HELM).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const CHART = join(root, 'deploy', 'helm', 'isthmus');
const DEFINITIONS = join(root, 'deploy', 'crds');
const COPIED = join(CHART, 'files', 'crds');

/** The files to render and Helm's arguments for each. */
const RENDERED = [
  { file: 'deploy/manifests/isthmus.yaml', about: 'Isthmus as a DaemonSet, with its rights', args: [] },
  {
    file: 'deploy/manifests/isthmus-pod-network.yaml',
    about: 'The same without the network of the host: each Pod has an address of its own',
    args: ['--set=hostNetwork=false'],
  },
  {
    file: 'deploy/examples/kubernetes-source/rbac.yaml',
    about:
      'The rights of an instance that runs outside of the management cluster, and no others (docs/explanation/privileges.md)',
    args: ['--show-only=templates/serviceaccount.yaml', '--show-only=templates/rbac.yaml'],
  },
  {
    file: 'deploy/examples/kubernetes-source/rbac-node-selector.yaml',
    about: 'The rights of rbac.yaml, and the right to read Nodes for --node-selector',
    args: [
      '--show-only=templates/serviceaccount.yaml',
      '--show-only=templates/rbac.yaml',
      '--set-json=nodeParticipation=[{"key":"kubernetes.io/hostname","operator":"Exists"}]',
    ],
  },
];

function filesBelow(directory) {
  return readdirSync(directory, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

/** A hash of all sources of the manifests. It lets a test detect stale manifests without Helm. */
export function sourceHash() {
  const hash = createHash('sha256');
  for (const file of [...filesBelow(CHART), fileURLToPath(import.meta.url)])
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** Maps each path below the work tree to its expected content. */
export function renderedManifests(helm) {
  return new Map(RENDERED.map(({ file, about, args }) => [file, rendered(helm, about, args)]));
}

function rendered(helm, about, args) {
  // Hooks serve `helm uninstall` only.
  const all = ['template', 'isthmus', CHART, '--namespace=magnum-system', '--no-hooks', ...args];
  const text = execFileSync(helm, all, { encoding: 'utf8' });
  const plain = text
    .split('\n')
    // Plain manifests are applied without Helm, so Helm must not treat these objects as its own.
    .filter((line) => !/^\s*(helm\.sh\/chart|app\.kubernetes\.io\/managed-by):|^# Source:/.test(line))
    .map((line) => line.trimEnd())
    .join('\n')
    .replaceAll(/\n{2,}---\n/g, '\n---\n'); // Helm 4 writes an empty line here, Helm 3 does not
  const header =
    `# ${about}.\n` +
    `# Written by \`npm run manifests\` from deploy/helm/isthmus (${sourceHash()}): change it there.\n`;
  return `${header}${plain.trimEnd()}\n`;
}

/** The chart contains the program's version and copies of the CRDs, because a chart cannot read files outside its directory. */
export function chartCopies() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const chart = readFileSync(join(CHART, 'Chart.yaml'), 'utf8')
    .replace(/^version: .*$/m, `version: ${version}`)
    .replace(/^appVersion: .*$/m, `appVersion: "${version}"`);
  const copies = new Map([[join(CHART, 'Chart.yaml'), chart]]);
  if (existsSync(DEFINITIONS))
    for (const name of readdirSync(DEFINITIONS).filter((each) => each.endsWith('.yaml')))
      copies.set(join(COPIED, name), readFileSync(join(DEFINITIONS, name), 'utf8'));
  return copies;
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    writeFileSync(file, text);
    console.log(relative(root, file));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const copies = chartCopies();
  if (existsSync(COPIED)) for (const file of filesBelow(COPIED)) if (!copies.has(file)) rmSync(file);
  for (const [file, text] of copies) write(file, text);
  for (const [file, text] of renderedManifests(process.env.ISTHMUS_HELM)) write(join(root, file), text);
}
