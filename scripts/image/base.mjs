// Builds the base of the image's build stage from Debian packages: the content of the official Node image for Debian, plus a compiler.
// The build therefore pulls nothing from an image registry. The base stays in the cache until its recipe changes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ensureProgram } from '../fetch/debian.mjs';
import { cached, fetchStep } from '../fetch/downloader.mjs';
import { MissingError, onPath } from '../setup/problems.mjs';
import { pinnedNodeHome } from '../setup/setup.mjs';

const SUITE = 'bookworm';
const PACKAGES = ['ca-certificates', 'g++', 'make', 'python3', 'libstdc++6', 'libgcc-s1'];
/** A build stage does not need these files. The copyright files stay, because the image copies the ones it needs. */
const EXCLUDED = ['/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*', '/usr/share/doc/*'];
const INCLUDED = ['/usr/share/doc/*/copyright'];

/** Returns the directory of this machine's npm. The build stage gets a copy of it. */
function npmHome() {
  const script = process.env.npm_execpath?.endsWith('npm-cli.js') ? process.env.npm_execpath : undefined;
  if (script !== undefined) return dirname(dirname(script));
  if (!onPath('npm')) {
    throw new MissingError([{ what: '`npm` is not on the PATH', fix: 'install it: apt-get install -y npm' }]);
  }
  const places = (process.env.PATH ?? '').split(delimiter).map((each) => join(each, 'npm'));
  return dirname(dirname(realpathSync(places.find(existsSync))));
}

/** Debian splits its npm into about a hundred packages, so a copy of its directory does not work alone. */
function standsAlone(home) {
  return existsSync(join(home, 'node_modules')) && existsSync(join(home, 'bin', 'npm-cli.js'));
}

const sha256 = (content) => createHash('sha256').update(content).digest('hex');

/** Writes an image with one layer as an OCI image layout directory. */
function writeLayout(layout, tar, tag) {
  const blobs = join(layout, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const blob = (content) => {
    writeFileSync(join(blobs, sha256(content)), content);
    return { digest: `sha256:${sha256(content)}`, size: content.length };
  };
  const hashed = execFileSync('sha256sum', [tar], { encoding: 'utf8' }).slice(0, 64);
  const layer = { digest: `sha256:${hashed}`, size: statSync(tar).size };
  renameSync(tar, join(blobs, hashed));
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Env: ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'] },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...blob(JSON.stringify(config)) },
    layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layer }],
  };
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        mediaType: manifest.mediaType,
        ...blob(JSON.stringify(manifest)),
        annotations: { 'org.opencontainers.image.ref.name': tag },
      },
    ],
  };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
}

/** Returns the base as an OCI layout, and a name that changes with its recipe. */
export async function ensureBase() {
  const npm = npmHome();
  if (!standsAlone(npm)) {
    const what = `the npm of this machine (${npm}) needs other Debian packages: the build stage gets only a copy of it`;
    throw new MissingError([{ what, fix: 'run it with the npm that comes with Node itself' }]);
  }
  const versions = [join(pinnedNodeHome, 'package.json'), join(npm, 'package.json')].map((file) =>
    readFileSync(file, 'utf8'),
  );
  const recipe = [SUITE, ...PACKAGES, ...EXCLUDED, ...INCLUDED, process.arch, ...versions, 'layout 1'];
  const name = `image-base-${createHash('sha256').update(recipe.join('\0')).digest('hex').slice(0, 16)}`;
  const layout = await cached(name, async (directory) => {
    const command = await ensureProgram('mmdebstrap');
    const tar = `${directory}.tar`;
    rmSync(tar, { force: true });
    const hook = [
      `mkdir -p "$1/usr/local/bin" "$1/usr/local/lib/node_modules" "$1/src"`,
      `cp "${join(pinnedNodeHome, 'bin', 'node')}" "$1/usr/local/bin/node"`,
      `cp -rL "${npm}" "$1/usr/local/lib/node_modules/npm"`,
      `ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"`,
    ].join(' && ');
    // An optional local mirror, as a line of sources.list. Without it, mmdebstrap uses Debian's default mirror.
    const mirror = process.env.ISTHMUS_DEBIAN_MIRROR;
    const args = [
      '--variant=minbase',
      '--mode=root',
      '--quiet',
      '--dpkgopt=force-unsafe-io', // after a crash, the base is built again
      `--include=${PACKAGES.join(',')}`,
      ...EXCLUDED.map((each) => `--dpkgopt=path-exclude=${each}`),
      ...INCLUDED.map((each) => `--dpkgopt=path-include=${each}`),
      `--customize-hook=${hook}`,
      SUITE,
      tar,
      ...(mirror ? [mirror] : []),
    ];
    const temporary = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}; // uses 0.6 GB of memory for a minute and saves a minute of disk writes
    const env = { ...process.env, ...temporary, SOURCE_DATE_EPOCH: '0' };
    await fetchStep('making a base for the image from Debian packages (2 minutes, once)', command, args, {
      env,
      between: () => rmSync(tar, { force: true }),
    });
    writeLayout(directory, tar, `localhost/${name}`);
  });
  return { layout, name };
}
