// Finds the shared libraries of a program as the dynamic linker would, and the Debian packages that they come from.
// It works for other architectures too, because it runs no program of the target.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const MACHINES = {
  x64: { triplet: 'x86_64-linux-gnu', linker: '/lib64/ld-linux-x86-64.so.2', debian: 'amd64' },
  arm64: { triplet: 'aarch64-linux-gnu', linker: '/lib/ld-linux-aarch64.so.1', debian: 'arm64' },
};

const run = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

function needed(file) {
  const lines = run('readelf', '-d', file).matchAll(/\(NEEDED\)\s+Shared library: \[(.+)\]/g);
  return [...lines].map(([, name]) => name);
}

/** The package that owns a file. Because /usr is merged, dpkg may know the file under the other of its two paths. */
function owner(file) {
  const path = realpathSync(file);
  for (const candidate of [path, path.replace(/^\/usr/, ''), `/usr${path}`]) {
    try {
      return run('dpkg-query', '-S', candidate).split(':')[0].trim();
    } catch {} // not under this path
  }
  throw new Error(`${file} belongs to no Debian package`);
}

function packageOf(name, debian) {
  const fields = ['Package', 'Version', 'Architecture', 'Status'].map((field) => `\${${field}}`);
  const format = `${fields.join('\\t')}\\n`;
  const rows = run('dpkg-query', '-W', '-f', format, name).trim().split('\n');
  const installed = rows
    .map((row) => row.split('\t'))
    .filter(([, , , status]) => status?.endsWith(' installed'));
  const [, version, architecture] = installed.find(([, , each]) => each === debian) ?? installed[0] ?? [];
  if (version === undefined) throw new Error(`the Debian package ${name} is not installed`);
  // A package that dpkg-cross repacked is the target's own package in another place.
  const crossed = /^(.+)-(arm64|amd64)-cross$/.exec(name);
  if (crossed !== null)
    return {
      name: crossed[1],
      installedAs: name,
      version: version.replace(/cross\d+$/, ''),
      architecture: crossed[2],
    };
  return { name, installedAs: name, version, architecture };
}

/**
 * `{ files: [{ from, to }], packages: [{ name, version, architecture, copyright }] }` for these ELF files. `to` is where the linker of
 * the target looks.
 */
export function librariesOf(programs, arch) {
  const { triplet, linker, debian } = MACHINES[arch];
  const places = [`/lib/${triplet}`, `/usr/lib/${triplet}`, `/usr/${triplet}/lib`];
  const find = (name) => {
    const place = places.find((each) => existsSync(join(each, name)));
    if (place === undefined) throw new Error(`${name} is in none of ${places.join(', ')}`);
    return join(place, name);
  };
  const found = new Map();
  const queue = programs.flatMap(needed);
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (found.has(name)) continue;
    const file = find(name);
    found.set(name, file);
    queue.push(...needed(file));
  }
  const files = [...found].map(([name, from]) => {
    const isLinker = linker.endsWith(`/${name}`);
    return { from, to: isLinker ? linker : `/lib/${triplet}/${name}` };
  });
  if (!files.some(({ to }) => to === linker))
    files.push({ from: find(linker.split('/').at(-1)), to: linker });
  const names = [...new Set(files.map(({ from }) => owner(from)))].sort();
  const packages = names.map((name) => {
    const each = packageOf(name, debian);
    const copyright = `/usr/share/doc/${each.installedAs}/copyright`;
    return { ...each, copyright: existsSync(copyright) ? copyright : null };
  });
  return { files, packages };
}

/** `ID` and `VERSION_ID` of the Debian that the libraries are from. */
export function distribution() {
  const facts = Object.fromEntries(
    readFileSync('/etc/os-release', 'utf8')
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [
        line.slice(0, line.indexOf('=')),
        line.slice(line.indexOf('=') + 1).replace(/^"|"$/g, ''),
      ]),
  );
  return { file: realpathSync('/etc/os-release'), name: `${facts.ID}-${facts.VERSION_ID ?? 'testing'}` };
}
