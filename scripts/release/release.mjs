// `npm run release`: everything that a release consists of, into release/, with checksums. Publishes nothing: docs/release.md tells who
// takes it from there.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildImage, revision, sourceEpoch } from '../image/build.mjs';
import { billOfMaterials, npmComponent, productionPackages } from '../sbom.mjs';
import { root } from '../setup.mjs';
import { buildPrebuilds } from './prebuilds.mjs';
import { tryPackage } from './trial.mjs';

const json = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** The section of this version in CHANGELOG.md, or of what is not released yet. */
export function changesOf(version, text) {
  const sections = text.split(/^## /m).slice(1);
  const of = (name) => sections.find((section) => section.split(/[\s\]]/, 1)[0].replace('[', '') === name);
  return of(version) ?? of('Unreleased') ?? null;
}

export function checksums(directory) {
  return readdirSync(directory)
    .filter((file) => file !== 'SHA256SUMS')
    .sort()
    .map(
      (file) =>
        `${createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex')}  ${file}\n`,
    )
    .join('');
}

export async function release({ withImage }) {
  const { name, version, description, license } = json('package.json');
  const directory = join(root, 'release');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  const changes = changesOf(version, readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  if (changes === null) throw new Error(`CHANGELOG.md says nothing of ${version}`);
  writeFileSync(join(directory, 'CHANGES.md'), `## ${changes}`);

  const { built, missing } = await buildPrebuilds();
  const packed = execFileSync(
    'npm',
    ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory],
    { cwd: root, encoding: 'utf8' },
  );
  const archive = join(directory, packed.trim().split('\n').at(-1));

  const components = productionPackages(json('package-lock.json')).map(npmComponent);
  const bom = billOfMaterials({
    name,
    version,
    description,
    licence: license,
    epoch: sourceEpoch(),
    components,
  });
  writeFileSync(join(directory, `${name}-${version}.cdx.json`), `${JSON.stringify(bom, null, 2)}\n`);
  cpSync(join(root, 'deploy', 'seccomp', 'isthmus.json'), join(directory, `${name}-${version}-seccomp.json`));

  if (withImage) {
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    renameSync(
      await buildImage({ name: 'release', architecture }),
      join(directory, `${name}-${version}-image-${architecture}.tar`),
    );
  }

  for (const [where, options] of [
    ['without a compiler', { compiler: false, prebuilt: true }],
    ['with a compiler and no prebuilt addon', { compiler: true, prebuilt: false }],
  ]) {
    process.stderr.write(`· installing the package ${where} …\n`);
    const { ok, said } = tryPackage(archive, options);
    if (!ok) throw new Error(`the package does not work ${where}: ${said}`);
    process.stderr.write(`✓ it runs ${where}: ${said}\n`);
  }

  writeFileSync(join(directory, 'SHA256SUMS'), checksums(directory));
  process.stdout.write(`${name} ${version} of ${revision()}, in ${directory}:\n${checksums(directory)}`);
  process.stdout.write(`prebuilt addons: ${built.join(', ')}\n`);
  for (const { flavour, why } of missing)
    process.stdout.write(`left out: ${flavour} (${why}); there the package compiles it\n`);
  return 0;
}
