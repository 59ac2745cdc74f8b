// The contents of the image, and that builds are reproducible.
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Container, type ContainerOptions, rootfs } from './container.ts';
import { podSettings } from './pod-settings.ts';
import { ourProfile } from './seccomp-profile.ts';

interface Facts {
  readonly manifest: string;
  readonly contents: readonly string[];
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
  readonly architecture: string;
  readonly settings: { readonly Labels: Record<string, string>; readonly Entrypoint: readonly string[] };
}
interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: unknown;
}

const [built, again] = ['ISTHMUS_IMAGE_FACTS', 'ISTHMUS_IMAGE_FACTS_AGAIN'].map(
  (name) => JSON.parse(process.env[name] as string) as Facts,
) as [Facts, Facts];
const packageJson = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const DOCUMENTS = join(rootfs, 'usr/share/doc/isthmus');

const paths = readdirSync(rootfs, { withFileTypes: true, recursive: true })
  .filter((entry) => !entry.isDirectory())
  .map((entry) => join(entry.parentPath, entry.name).slice(rootfs.length));

/** Runs a program of the image until it ends. */
async function inside(entrypoint: readonly string[], options: Partial<ContainerOptions> = {}) {
  const container = new Container({
    runtime: 'crun',
    pod: podSettings(),
    seccomp: ourProfile(),
    entrypoint,
    ...options,
  });
  try {
    return await container.run();
  } finally {
    await container.remove();
  }
}

test('two builds of the same sources produce identical images', () => {
  expect(again.contents).toEqual(built.contents);
  expect(again.layers).toEqual(built.layers);
  expect(again.manifest).toBe(built.manifest);
});

test('the image is little larger than Node itself', () => {
  const size = paths.reduce((sum, path) => sum + lstatSync(join(rootfs, path)).size, 0);
  const node = statSync(join(rootfs, 'usr/local/bin/node')).size;
  expect(size).toBeLessThanOrEqual(node * 1.15 + 25_000_000);
});

test('the image contains no shell, package manager, sources, headers or compiler', () => {
  const unwanted =
    /\/(sh|bash|dash|busybox|apt|apt-get|dpkg|npm|npx|env|gcc|cc|make|python3?)$|\.(ts|mts|cts|map|h|hh|cc|c|gyp|a|o)$|\/typescript\//;
  expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
});

test('the image contains neither the demo nor the in-memory Kubernetes API', () => {
  const program = paths.filter((path) => path.startsWith('/opt/isthmus/dist/'));
  expect(program).toContain('/opt/isthmus/dist/main.js');
  expect(program.filter((path) => /demo|management-api|fake-kube/.test(path))).toEqual([]);
});

test('the image has labels with title, licence, version, revision and creation time', () => {
  expect(built.settings.Labels).toMatchObject({
    'org.opencontainers.image.title': 'isthmus',
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.version': packageJson.version,
    'org.opencontainers.image.revision': expect.stringMatching(/^[0-9a-f]{40}(-dirty)?$/),
    'org.opencontainers.image.created': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  });
  expect(built.architecture).toBe(process.arch === 'x64' ? 'amd64' : process.arch);
});

test('the image lists all its packages with their licences, as CycloneDX and as text', async () => {
  const bom = JSON.parse(readFileSync(join(DOCUMENTS, 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    serialNumber: string;
    components: readonly Component[];
  };
  expect(bom.bomFormat).toBe('CycloneDX');
  expect(bom.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  const purls = new Set(bom.components.map(({ purl }) => purl));
  expect(purls.size).toBe(bom.components.length);
  const manifests = paths.filter((path) => /\/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path));
  const there = manifests.map((path) => {
    const { name, version } = JSON.parse(readFileSync(join(rootfs, path), 'utf8')) as Component;
    return { name, version };
  });
  expect(there.length).toBeGreaterThan(30);
  const licences = readFileSync(join(DOCUMENTS, 'licences.txt'), 'utf8');
  const texts = readFileSync(join(DOCUMENTS, 'licence-texts.txt'), 'utf8');
  for (const { name, version } of there) {
    expect(purls).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    expect(licences).toContain(`${name} ${version}: `);
    expect(texts).toContain(`${name} ${version}: `);
  }
  expect(licences).not.toContain('unknown');
  const platform = bom.components.find(({ type }) => type === 'platform');
  const { stdout } = await inside(['/usr/local/bin/node', '--version']);
  expect(`v${platform?.version}`).toBe(stdout.trim());
  expect([...purls].filter((purl) => purl.startsWith('pkg:deb/debian/libc6@'))).toHaveLength(1);
});

test('the image contains every needed library, also for code that is rarely loaded', async () => {
  const script = `
    const { KubeConfig } = await import('/opt/isthmus/node_modules/@kubernetes/client-node/dist/index.js');
    await import('/opt/isthmus/dist/kube/credentials/rare-credentials.js');
    await import('/opt/isthmus/dist/cli/doctor/doctor.js');
    console.log(typeof KubeConfig);`;
  const answer = await inside(['/usr/local/bin/node', '--input-type=module', '-e', script]);
  expect(answer).toEqual({ code: 0, stdout: 'function\n', stderr: '' });
});

test('the doctor of the image loads the native addon', async () => {
  const { stdout } = await inside([
    '/usr/local/bin/isthmus',
    'doctor',
    '--source',
    'file:/opt/isthmus',
    '--json',
  ]);
  expect(stdout).toContain('the native addon loads');
});
