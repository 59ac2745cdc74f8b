// Reads an OCI image archive: its digests, and its root filesystem as a container runtime unpacks it. Images of Isthmus have no
// whiteouts (no layer deletes files of another layer), so this reader rejects them.
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const blob = (layout, digest) => join(layout, 'blobs', ...digest.split(':'));
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** Unpacks the archive into a temporary directory and removes it after `work`. */
function withLayout(archive, work) {
  const layout = mkdtempSync(join(tmpdir(), 'isthmus-oci-'));
  try {
    execFileSync('tar', ['-xf', archive, '-C', layout]);
    const manifestDigest = json(join(layout, 'index.json')).manifests[0].digest;
    const manifest = json(blob(layout, manifestDigest));
    return work({ layout, manifest, manifestDigest, config: json(blob(layout, manifest.config.digest)) });
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

/** Returns the digests of the manifest, of the compressed layers and of their content. */
export function describe(archive) {
  return withLayout(archive, ({ manifest, manifestDigest, config }) => ({
    manifest: manifestDigest,
    config: manifest.config.digest,
    layers: manifest.layers.map(({ digest, size }) => ({ digest, size })),
    contents: config.rootfs.diff_ids,
    architecture: config.architecture,
    settings: config.config,
    created: config.created,
  }));
}

/** Unpacks the root filesystem into an empty directory and returns the total size of its files. */
export function unpack(archive, directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  withLayout(archive, ({ layout, manifest }) => {
    for (const { digest } of manifest.layers) {
      const file = blob(layout, digest);
      const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8', maxBuffer: 64 << 20 });
      if (/(^|\/)\.wh\./m.test(names)) throw new Error(`layer ${digest} deletes files of another layer`);
      execFileSync('tar', ['-xpf', file, '-C', directory, '--numeric-owner']);
    }
  });
  return sizeOf(directory);
}

export function sizeOf(path) {
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
