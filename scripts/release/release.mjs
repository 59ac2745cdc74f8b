// `npm run release`: builds all parts of a release into release/, with checksums. It publishes nothing; docs/how-to/release.md describes the
// next steps.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { chartCopies } from '../chart/manifests.mjs';
import { packChart } from '../chart/pack.mjs';
import { buildDeb, debVersion } from '../deb/build-deb.mjs';
import { ensureHelm } from '../fetch/chart-tools.mjs';
import { buildImage, revision, sourceEpoch } from '../image/build.mjs';
import { requireTools } from '../setup/problems.mjs';
import { root } from '../setup/setup.mjs';
import { buildPrebuilds } from './prebuilds.mjs';
import { billOfMaterials, npmComponent, productionPackages } from './sbom.mjs';
import { tryPackage } from './trial.mjs';

const json = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** Returns the section `name` (a version, or `Unreleased`) of CHANGELOG.md. Returns null if it is missing or empty. */
export function changesOf(name, text) {
  const sections = text.split(/^## /m).slice(1);
  const found = sections.find((section) => section.split(/[\s\]]/, 1)[0].replace('[', '') === name);
  return found !== undefined && /\n\s*[^\s#]/.test(found) ? found : null;
}

/** Lists why this is not a release yet: all files must name the same version. `copies` maps paths to their expected content. */
export function releaseProblems({ version, section, changes, copies }) {
  const problems = [];
  if (changes === null)
    problems.push(
      section === version
        ? `CHANGELOG.md has no section "## ${version}", or it is empty: move the text below "Unreleased" there ` +
            '(-- --unreleased makes a trial release)'
        : `CHANGELOG.md has no section "## ${section}", or it is empty`,
    );
  for (const [file, text] of copies)
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text)
      problems.push(`${relative(root, file)} is not that of ${version}: npm run manifests writes it`);
  return problems;
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

/** `--no-image`, `--no-deb` and `--no-chart` skip a part. `--unreleased` uses the section `Unreleased` instead of the version's. */
export async function release(args) {
  const isWanted = (what) => !args.includes(`--no-${what}`);
  const { name, version, description, license } = json('package.json');
  const directory = join(root, 'release');
  const section = args.includes('--unreleased') ? 'Unreleased' : version;
  const changes = changesOf(section, readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  const problems = releaseProblems({ version, section, changes, copies: chartCopies() });
  if (problems.length > 0) throw new Error(`this is not a release yet:\n  ${problems.join('\n  ')}`);
  // Report missing tools before the compilers start.
  if (isWanted('deb')) requireTools(['dpkg-deb']);
  const helm = isWanted('chart') ? (await ensureHelm()).ISTHMUS_HELM : null;

  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  writeFileSync(join(directory, 'CHANGES.md'), `## ${changes}`);
  if (helm !== null) packChart({ helm, directory, name, version });
  if (isWanted('deb')) {
    process.stderr.write('· packing for Debian …\n');
    buildDeb({ directory, version: debVersion() });
  }

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

  if (isWanted('image')) {
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
