// Builds a CycloneDX bill of materials. The same input gives the same bytes: the time is SOURCE_DATE_EPOCH and the serial number is
// derived from the content. Uses only Node built-ins, because the image's build stage also runs this file.
import { createHash } from 'node:crypto';

/** Returns the production packages of package-lock.json, sorted, each with its directory. */
export function productionPackages(lock) {
  return Object.entries(lock.packages)
    .filter(
      ([path, each]) => path.startsWith('node_modules/') && !each.dev && !each.devOptional && !each.link,
    )
    .map(([path, each]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: each.version,
      licence: each.license ?? 'unknown',
      integrity: each.integrity,
    }))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

const purlName = (name) => name.replace(/^@/, '%40');
const isExpression = (licence) => / (AND|OR|WITH) /.test(licence);
/** npm manifests hold an SPDX id or expression. Any other text becomes a plain licence name. */
function licences(licence) {
  if (isExpression(licence)) return [{ expression: licence }];
  return [{ license: /^[A-Za-z0-9.+-]+$/.test(licence) ? { id: licence } : { name: licence } }];
}

function hashes(integrity) {
  const match = /^sha512-(\S+)$/.exec(integrity ?? '');
  if (match === null) return {};
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(match[1], 'base64').toString('hex') }] };
}

export function npmComponent({ name, version, licence, integrity }) {
  const purl = `pkg:npm/${purlName(name)}@${version}`;
  return { type: 'library', name, version, ...hashes(integrity), licenses: licences(licence), purl };
}

/** The bundled Node. Vulnerability databases identify it by its CPE. */
export function nodeComponent(version, integrity) {
  return {
    type: 'platform',
    name: 'node',
    version,
    ...hashes(integrity),
    licenses: licences('MIT'),
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
}

export function debianComponent({ name, version, architecture, distribution }) {
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=${distribution}`;
  return { type: 'library', name, version, purl };
}

/** `epoch` is in seconds. The functions above create the `components`. */
export function billOfMaterials({ name, version, description, licence, epoch, components }) {
  const named = components.map((each) => ({ ...each, 'bom-ref': each.purl }));
  // Copies of the same package version in different directories count as one component.
  const unique = [...new Map(named.map((each) => [each.purl, each])).values()];
  unique.sort((left, right) => (left.purl < right.purl ? -1 : 1));
  const purl = `pkg:npm/${purlName(name)}@${version}`;
  const subject = { name, version, description, licenses: licences(licence), purl, 'bom-ref': purl };
  const digest = createHash('sha256')
    .update(JSON.stringify([subject, unique]))
    .digest('hex');
  // The digest takes the form of a version 4 UUID, because every reader accepts that form.
  const uuid = digest.replace(
    /^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/,
    (_, a, b, c, d, e) => `${a}-${b}-4${c}-8${d}-${e}`,
  );
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { type: 'application', ...subject },
    },
    components: unique,
    dependencies: [{ ref: purl, dependsOn: unique.map((each) => each['bom-ref']) }],
  };
}
