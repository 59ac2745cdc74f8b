// A CycloneDX bill of materials. The same input gives the same bytes: its time is SOURCE_DATE_EPOCH and its serial number follows
// from its content. Runs on built-ins alone: also in the build stage of the image.
import { createHash } from 'node:crypto';

/** What package-lock.json says is installed for production, sorted; each with the directory it is in. */
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
/** An SPDX id or expression, as npm's manifests have them; anything else is only a name. */
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

/** The Node that is inside; vulnerability databases know it by its CPE. */
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

/** `epoch` in seconds; `components` as the functions above make them. */
export function billOfMaterials({ name, version, description, licence, epoch, components }) {
  const named = components.map((each) => ({ ...each, 'bom-ref': each.purl }));
  // Two copies of one package in different places are one component.
  const unique = [...new Map(named.map((each) => [each.purl, each])).values()];
  unique.sort((left, right) => (left.purl < right.purl ? -1 : 1));
  const purl = `pkg:npm/${purlName(name)}@${version}`;
  const subject = { name, version, description, licenses: licences(licence), purl, 'bom-ref': purl };
  const digest = createHash('sha256')
    .update(JSON.stringify([subject, unique]))
    .digest('hex');
  // A version 4 UUID by its shape, so that every reader takes it.
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
