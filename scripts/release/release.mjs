// `npm run release`: everything that a release consists of, into release/, with checksums. Publishes nothing: docs/release.md tells who
// takes it from there.
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
import { buildDeb, debVersion } from '../deb/build-deb.mjs';
import { ensureHelm } from '../helm.mjs';
import { buildImage, revision, sourceEpoch } from '../image/build.mjs';
import { chartCopies } from '../manifests.mjs';
import { requireTools } from '../problems.mjs';
import { billOfMaterials, npmComponent, productionPackages } from '../sbom.mjs';
import { root } from '../setup.mjs';
import { packChart } from './chart.mjs';
import { buildPrebuilds } from './prebuilds.mjs';
import { tryPackage } from './trial.mjs';

const json = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

/** The section of this name (a version, or `Unreleased`) in CHANGELOG.md; null without one, and where it says nothing. */
export function changesOf(name, text) {
  const sections = text.split(/^## /m).slice(1);
  const found = sections.find((section) => section.split(/[\s\]]/, 1)[0].replace('[', '') === name);
  return found !== undefined && /\n\s*[^\s#]/.test(found) ? found : null;
}

/** Why this is not a release yet: what names the version must name this one. `copies`: what files should hold, by path. */
export function releaseProblems({ version, section, changes, copies }) {
  const problems = [];
  if (changes === null)
    problems.push(
      section === version
        ? `CHANGELOG.md has no section "## ${version}" with something in it: what is below "Unreleased" belongs there ` +
            '(-- --unreleased tries a release before that)'
        : `CHANGELOG.md has no section "## ${section}" with something in it`,
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

/** What is left out by `--no-image`, `--no-deb`, `--no-chart`; `--unreleased` takes the section of that name for the version's. */
export async function release(args) {
  const isWanted = (what) => !args.includes(`--no-${what}`);
  const { name, version, description, license } = json('package.json');
  const directory = join(root, 'release');
  const section = args.includes('--unreleased') ? 'Unreleased' : version;
  const changes = changesOf(section, readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  const problems = releaseProblems({ version, section, changes, copies: chartCopies() });
  if (problems.length > 0) throw new Error(`this is no release yet:\n  ${problems.join('\n  ')}`);
  // Before the compilers are started: what is missing should be known at once.
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
