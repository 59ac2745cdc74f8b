// `npm run image`: builds the image from this work tree without a registry, as an OCI archive and as an unpacked root filesystem.
// Fails if the image exceeds its size goal.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureProgram } from '../fetch/debian.mjs';
import { cacheDirectory } from '../fetch/downloader.mjs';
import { withLock } from '../setup/lock.mjs';
import { MissingError } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';
import { runStep } from '../setup/step.mjs';
import { ensureBase } from './base.mjs';
import { describe, unpack } from './oci-archive.mjs';

export const imageDirectory = join(root, '.cache', 'image');
const OWN_ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';
const MEGABYTE = 1_000_000;
/** Node's binary makes up most of the image. */
export const sizeGoal = (nodeBytes) => nodeBytes * 1.15 + 25 * MEGABYTE;
const inMegabytes = (bytes) => `${(bytes / MEGABYTE).toFixed(1)} MB`;

function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}

/** SOURCE_DATE_EPOCH from the environment, else the time of the commit. */
export function sourceEpoch() {
  return Number(process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct') || 0);
}

export function revision() {
  const commit = git('rev-parse', 'HEAD');
  if (commit === null) return 'unknown';
  return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit}-dirty`;
}

/** Whether overlayfs works here. Without it, every layer is a full copy of the layers below. */
function overlayWorks(home) {
  const parts = ['lower', 'upper', 'work', 'merged'].map((name) => join(home, 'probe', name));
  for (const part of parts) mkdirSync(part, { recursive: true });
  const [lower, upper, work, merged] = parts;
  const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  const mounted = spawnSync('mount', ['-t', 'overlay', 'overlay', '-o', options, merged]).status === 0;
  if (mounted) spawnSync('umount', [merged]);
  rmSync(join(home, 'probe'), { recursive: true, force: true });
  return mounted;
}

/** buildah with its own storage, separate from other container tools on this machine. */
async function storage() {
  const command = await ensureProgram('buildah');
  const home = join(cacheDirectory(), 'image-storage');
  mkdirSync(home, { recursive: true });
  const policy = join(home, 'policy.json');
  writeFileSync(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const registries = join(home, 'registries.conf');
  writeFileSync(registries, 'unqualified-search-registries = []\n');
  const driver = overlayWorks(home) ? 'overlay' : 'vfs';
  const settings = join(home, 'storage.conf');
  writeFileSync(settings, `[storage]\ndriver = "${driver}"\n`);
  const env = {
    ...process.env,
    CONTAINERS_CONF: '/dev/null',
    CONTAINERS_STORAGE_CONF: settings,
    TMPDIR: home, // holds temporary layers; /tmp may be small
  };
  const all = ['--root', join(home, driver), '--runroot', join(home, 'run'), '--storage-driver', driver];
  all.push('--registries-conf', registries);
  return {
    policy,
    step: (title, args, cwd = root) => runStep(title, command, [...all, ...args], { cwd, env }),
    ask: (...args) => {
      const { status, stdout, stderr } = spawnSync(command, [...all, ...args], {
        cwd: root,
        env,
        encoding: 'utf8',
      });
      return { ok: status === 0, said: (status === 0 ? stdout : stderr).trim() };
    },
  };
}

/** Imports the base as an image into that storage. */
async function importBase(buildah) {
  const { layout, name } = await ensureBase();
  const image = `localhost/${name}`;
  if (buildah.ask('images', '--quiet', image).ok) return image;
  buildah.ask('rmi', '--all', '--force'); // removes bases of older recipes
  // buildah names the image after the given path. A relative path from the base's directory gives a plain name.
  const pull = ['pull', '--quiet', '--signature-policy', buildah.policy, `oci:${name}`];
  await buildah.step('unpacking the base', pull, dirname(layout));
  return image;
}

/** Optional build secrets: the CA certificates of a TLS-inspecting proxy, if this machine has one. */
function secrets() {
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  return certificates && existsSync(certificates) ? ['--secret', `id=certificates,src=${certificates}`] : [];
}

/** The commit and its time, which the image records. A caller that builds twice passes the same facts to both builds. */
export const sourceFacts = () => ({ epoch: sourceEpoch(), revision: revision() });

/** Builds the image once and returns the archive. `architecture` is amd64 or arm64. */
export async function buildImage({
  name = 'isthmus',
  architecture = OWN_ARCHITECTURE,
  of = sourceFacts(),
} = {}) {
  if (process.getuid() !== 0)
    throw new MissingError([
      {
        what: 'the image is built as root here',
        fix: 'sudo npm run image, or podman build -f deploy/image/Containerfile .',
      },
    ]);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { epoch } = of;
  mkdirSync(imageDirectory, { recursive: true });
  const archive = join(imageDirectory, `${name}-${architecture}.tar`);
  rmSync(archive, { force: true });
  await withLock(join(cacheDirectory(), 'image-storage.lock'), async () => {
    const buildah = await storage();
    const base = await importBase(buildah);
    const image = `localhost/isthmus:${version}`;
    // The build shares npm's cache, so it does not download packages twice.
    const npmCache = join(homedir(), '.npm');
    mkdirSync(npmCache, { recursive: true });
    const facts = {
      BUILDER_IMAGE: base,
      BUILDPLATFORM: `linux/${OWN_ARCHITECTURE}`, // older versions of buildah do not set it
      TARGETARCH: architecture,
      SOURCE_DATE_EPOCH: epoch,
      VERSION: version,
      REVISION: of.revision,
      CREATED: new Date(epoch * 1000).toISOString().replace('.000Z', 'Z'),
    };
    const signatures = ['--signature-policy', buildah.policy];
    await buildah.step(`building the image (${architecture})`, [
      ...['build', ...signatures, '--isolation', 'chroot', '--pull-never', '--no-cache', '--force-rm'],
      ...['--file', 'deploy/image/Containerfile', '--ignorefile', 'deploy/image/Containerfile.dockerignore'],
      ...['--timestamp', `${epoch}`, '--arch', architecture, '--volume', `${npmCache}:/root/.npm`],
      ...secrets(),
      ...Object.entries(facts).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]),
      ...['--tag', image, '.'],
    ]);
    const destination = `oci-archive:${archive}:isthmus:${version}`;
    await buildah.step('writing the archive', ['push', '--quiet', ...signatures, image, destination]);
    buildah.ask('rmi', '--force', image);
    buildah.ask('rmi', '--prune', '--force');
  });
  return archive;
}

/** Returns the text that `npm run image` prints, and whether the image meets its size goal. */
export function judge(archive, rootfs) {
  const size = unpack(archive, rootfs);
  const node = statSync(join(rootfs, 'usr/local/bin/node')).size;
  const { manifest, layers } = describe(archive);
  const sent = layers.reduce((sum, layer) => sum + layer.size, 0);
  const goal = sizeGoal(node);
  const facts = [
    `archive      ${archive}`,
    `root         ${rootfs}`,
    `manifest     ${manifest}`,
    `layers       ${layers.map(({ size: bytes }) => inMegabytes(bytes)).join(' + ')} = ${inMegabytes(sent)} to pull`,
    `size         ${inMegabytes(size)}, of which Node ${inMegabytes(node)}; at most ${inMegabytes(goal)}`,
  ];
  return { text: `${facts.join('\n')}\n`, fits: size <= goal };
}

/** Accepts `--arch amd64|arm64`, the names that container tools use. */
export async function image(args) {
  const at = args.indexOf('--arch');
  const architecture = at === -1 ? OWN_ARCHITECTURE : args[at + 1];
  const archive = await buildImage({ architecture });
  const { text, fits } = judge(archive, join(imageDirectory, `rootfs-${architecture}`));
  process.stdout.write(text);
  if (!fits) process.stderr.write('✗ the image is larger than its limit\n');
  return fits ? 0 : 1;
}
