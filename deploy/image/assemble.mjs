// Runs in the build stage: compiles the program and writes the files of the image below /image, one directory for each layer:
// `libraries` (the libraries of Debian that Node needs), `node`, `program`. The same sources and base give the same bytes.
//   node deploy/image/assemble.mjs [amd64|arm64]
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  billOfMaterials,
  debianComponent,
  nodeComponent,
  npmComponent,
  productionPackages,
} from '../../scripts/release/sbom.mjs';
import { distribution, librariesOf } from './libraries.mjs';
import { copyFile, copyPackages, licenceList, licenceTexts } from './packages.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const arch = { amd64: 'x64', arm64: 'arm64', '': process.arch }[process.argv[2] ?? ''];
if (arch === undefined) throw new Error(`${process.argv[2]}: amd64 and arm64 are known`);
const image = process.env.ISTHMUS_IMAGE_DIRECTORY ?? '/image';
const epoch = Number(process.env.SOURCE_DATE_EPOCH || 0);
const at = (...parts) => join(root, ...parts);
const to = (...parts) => join(image, ...parts);
const node = (...args) =>
  execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });

const HOME = '/opt/isthmus';
const DOCUMENTS = '/usr/share/doc/isthmus';
const flavour = `linux-${arch}-glibc`;
/** The site's own base has its libraries already, and they may be newer. */
const ownLibraries = (process.env.RUNTIME_IMAGE ?? 'scratch') === 'scratch';

rmSync(image, { recursive: true, force: true });
rmSync(at('dist'), { recursive: true, force: true });
node(at('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.build.json', '--sourceMap', 'false');
node(at('scripts', 'addon', 'build-addon.mjs'), '--flavour', flavour);
const addon = at('prebuilds', flavour, 'linux_netns.node');

const manifest = JSON.parse(readFileSync(at('package.json'), 'utf8'));
const lock = JSON.parse(readFileSync(at('package-lock.json'), 'utf8'));
const pinned = `node_modules/node-linux-${arch}`;
const binary = at(pinned, 'bin', 'node');

const { files, packages: debian } = ownLibraries
  ? librariesOf([binary, addon], arch)
  : { files: [], packages: [] };
const { file: release, name: distro } = distribution();
mkdirSync(to('libraries'), { recursive: true });
if (ownLibraries) layOutRoot();

copyFile(binary, to('node', 'usr/local/bin/node'));
copyFile(at(pinned, 'LICENSE'), to('node', 'usr/share/doc/node/LICENSE'));

const installed = copyPackages(productionPackages(lock), root, to('program', HOME));
cpSync(at('dist'), to('program', HOME, 'dist'), { recursive: true });
copyFile(addon, to('program', HOME, 'prebuilds', flavour, 'linux_netns.node'));
const { name, version, description, license, type, engines } = manifest;
writeFileSync(
  to('program', HOME, 'package.json'),
  `${JSON.stringify({ name, version, description, license, type, engines }, null, 2)}\n`,
);
mkdirSync(to('program', 'usr/local/bin'), { recursive: true });
// The kernel reads the first line, so `kubectl exec … -- isthmus status` works without a shell and without `env`.
writeFileSync(
  to('program', 'usr/local/bin/isthmus'),
  `#!/usr/local/bin/node\nimport('${HOME}/dist/main.js');\n`,
);
chmodSync(to('program', 'usr/local/bin/isthmus'), 0o755);

mkdirSync(to('program', DOCUMENTS), { recursive: true });
copyFile(at('LICENSE'), to('program', DOCUMENTS, 'LICENSE'));
const others = debian.map((each) => ({
  name: each.name,
  version: each.version,
  licence: `/usr/share/doc/${each.name}/copyright`,
}));
const nodeRow = {
  name: 'node',
  version: lock.packages[pinned].version,
  licence: 'MIT and others: /usr/share/doc/node/LICENSE',
};
writeFileSync(to('program', DOCUMENTS, 'licences.txt'), licenceList([...installed, nodeRow, ...others]));
writeFileSync(to('program', DOCUMENTS, 'licence-texts.txt'), licenceTexts(installed, root));
const components = [
  ...installed.map(npmComponent),
  nodeComponent(lock.packages[pinned].version, lock.packages[pinned].integrity),
  ...debian.map((each) => debianComponent({ ...each, distribution: distro })),
];
const bom = billOfMaterials({ name, version, description, licence: license, epoch, components });
writeFileSync(to('program', DOCUMENTS, 'sbom.cdx.json'), `${JSON.stringify(bom, null, 2)}\n`);

/** Sets modes and times that do not depend on the umask or the clock. */
function settle(path, entry) {
  if (entry.isDirectory()) {
    for (const child of readdirSync(path, { withFileTypes: true })) settle(join(path, child.name), child);
    if (path !== to('libraries', 'tmp')) chmodSync(path, 0o755);
  } else if (entry.isFile()) {
    const runs = /\/bin\/|\.node$|\/ld-linux[^/]*$|\.so(\.\d+)*$/.test(path);
    chmodSync(path, runs ? 0o755 : 0o644);
  }
  lutimesSync(path, epoch, epoch);
}
settle(image, { isDirectory: () => true, isFile: () => false });

/** The libraries, and the directories that a program expects in a root file system. */
function layOutRoot() {
  for (const file of files) copyFile(file.from, to('libraries', file.to));
  copyFile(release, to('libraries', 'usr/lib/os-release'));
  mkdirSync(to('libraries', 'etc'), { recursive: true });
  symlinkSync('../usr/lib/os-release', to('libraries', 'etc/os-release'));
  writeFileSync(
    to('libraries', 'etc/passwd'),
    'root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n',
  );
  writeFileSync(to('libraries', 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n');
  writeFileSync(to('libraries', 'etc/nsswitch.conf'), 'hosts: files dns\n');
  for (const { name, version, architecture, copyright } of debian) {
    // Where scanners look for the packages of an image without dpkg.
    const status = `Package: ${name}\nStatus: install ok installed\nArchitecture: ${architecture}\nVersion: ${version}\n`;
    mkdirSync(to('libraries', 'var/lib/dpkg/status.d'), { recursive: true });
    writeFileSync(to('libraries', 'var/lib/dpkg/status.d', name), status);
    if (copyright !== null) copyFile(copyright, to('libraries', 'usr/share/doc', name, 'copyright'));
  }
  // A mount point: the root file system is read-only at run time.
  for (const directory of ['dev', 'proc', 'sys', 'run/netns', 'tmp'])
    mkdirSync(to('libraries', directory), { recursive: true });
  chmodSync(to('libraries', 'tmp'), 0o1777);
  symlinkSync('../run', to('libraries', 'var/run'));
}
