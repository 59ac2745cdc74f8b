// The images of the nodes as OCI archives: our own under the name that a registry would give it, and images with a single static program,
// written by hand: the pause image, and an image that crashes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PAUSE_IMAGE = 'registry.example/pause:1';
export const CRASHING_IMAGE = 'registry.example/isthmus:crash';

export const ISTHMUS_IMAGE = 'registry.example/isthmus:0.1.0';

/** containerd names an imported image after this annotation. */
const NAME = 'io.containerd.image.name';

const source = fileURLToPath(new URL('./pause.c', import.meta.url));
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Compiles the program and writes the archive of an image that starts it under the name `program`. Returns the file of the archive. */
export function scratchImage(directory: string, image: string, program: 'pause' | 'crash'): string {
  const home = join(directory, program);
  const [root, layout] = [join(home, 'root'), join(home, 'layout')];
  const blobs = join(layout, 'blobs', 'sha256');
  for (const each of [root, blobs]) mkdirSync(each, { recursive: true });
  execFileSync('cc', ['-static', '-Os', '-s', '-o', join(root, program), source], { stdio: 'pipe' });
  const layerFile = join(home, 'layer.tar');
  execFileSync('tar', ['--numeric-owner', '--owner=0', '--group=0', '-cf', layerFile, '-C', root, program]);
  const blob = (content: Buffer) => {
    writeFileSync(join(blobs, sha256(content)), content);
    return { digest: `sha256:${sha256(content)}`, size: content.length };
  };
  const type = (name: string) => `application/vnd.oci.image.${name}`;
  const layer = blob(readFileSync(layerFile));
  const config = {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Entrypoint: [`/${program}`] },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  };
  const json = (value: object) => blob(Buffer.from(JSON.stringify(value)));
  const manifest = {
    schemaVersion: 2,
    mediaType: type('manifest.v1+json'),
    config: { mediaType: type('config.v1+json'), ...json(config) },
    layers: [{ mediaType: type('layer.v1.tar'), ...layer }],
  };
  const annotations = { [NAME]: image };
  const index = {
    schemaVersion: 2,
    manifests: [{ mediaType: manifest.mediaType, ...json(manifest), annotations }],
  };
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index));
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  const archive = join(directory, `${program}.tar`);
  execFileSync('tar', ['-cf', archive, '-C', layout, '.']);
  return archive;
}

/** A copy of the archive of `npm run image`, named as if it came from a registry: CRI does not find an image without a host in its name. */
export function isthmusImage(directory: string): string {
  const { ISTHMUS_IMAGE_ARCHIVE: built } = process.env;
  if (built === undefined)
    throw new Error('no image: these tests run with `npm run test:node`, which builds it');
  const layout = join(directory, 'isthmus');
  mkdirSync(layout);
  execFileSync('tar', ['-xf', built, '-C', layout]);
  const file = join(layout, 'index.json');
  const index = JSON.parse(readFileSync(file, 'utf8'));
  index.manifests[0].annotations = { [NAME]: ISTHMUS_IMAGE };
  writeFileSync(file, JSON.stringify(index));
  const archive = join(directory, 'isthmus.tar');
  execFileSync('tar', ['-cf', archive, '-C', layout, '.']);
  return archive;
}
