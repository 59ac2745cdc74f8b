// Which files of the installed packages are in the image: those that Node can load. This file lists each package that is left out
// completely, with the reason.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const LEFT_OUT = [
  [/^@types\/|^undici-types$/, 'types, for the compiler only'],
  [/^node-addon-api$/, 'headers, for the addon’s compiler only'],
  [/^bare-/, 'stand in for Node’s own modules in another runtime'],
];

const LOADED = /\.(c|m)?js$|\.json$|\.node$|\.wasm$/;
/** Directories beside the code of a package; no program imports a file from them. */
const ASIDE = new Set([
  'test',
  'tests',
  'bench',
  'benchmark',
  'benchmarks',
  'doc',
  'docs',
  'example',
  'examples',
  'prebuilds',
  '.github',
]);

export const isLeftOut = (name) => LEFT_OUT.some(([pattern]) => pattern.test(name));

function copyLoaded(from, to, top) {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name === 'node_modules' || (top && ASIDE.has(entry.name))) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyLoaded(source, target, false);
    else if (entry.isFile() && LOADED.test(entry.name)) {
      mkdirSync(to, { recursive: true });
      copyFileSync(source, target);
    }
  }
}

/** Copies the loadable files of each package to the same place below `to`; returns the packages that exist. */
export function copyPackages(packages, from, to) {
  const copied = packages.filter(({ name, path }) => !isLeftOut(name) && existsSync(join(from, path)));
  for (const { path } of copied) copyLoaded(join(from, path), join(to, path), true);
  return copied;
}

const isLicence = (file) => /^(licen[cs]e|copying|notice)/i.test(file);

/** One text with the licence of each package. For a package without a licence text, it names the licence in the manifest. */
export function licenceTexts(packages, from) {
  const parts = packages.map(({ name, version, licence, path }) => {
    const directory = join(from, path);
    const files = readdirSync(directory)
      .filter((file) => isLicence(file) && statSync(join(directory, file)).isFile())
      .sort();
    const texts = files.map((file) => readFileSync(join(directory, file), 'utf8').trim());
    const body =
      texts.length > 0 ? texts.join('\n\n') : `(no text is shipped with it; its manifest says ${licence})`;
    return `${name} ${version}: ${licence}\n\n${body}\n`;
  });
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** The same in one line each. */
export function licenceList(packages) {
  return packages.map(({ name, version, licence }) => `${name} ${version}: ${licence}\n`).join('');
}

export function copyFile(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
