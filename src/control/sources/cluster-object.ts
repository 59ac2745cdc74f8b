// The OpenStackCluster as other objects refer to it. Read apart from the facts: what is odd here never makes a cluster
// unusable, it only leaves the reference out.
import { isIPv6 } from 'node:net';
import { TAGS_ANNOTATION } from '../objects/object-labels.ts';
import { readTags } from '../objects/resource-tags.ts';
import type { ClusterObject } from './cluster-source.ts';
import { type ManifestFields, manifestFields } from './manifest-fields.ts';

/** null where the object has no name that others could refer to. */
export function clusterObject(object: unknown): ClusterObject | null {
  const fields = manifestFields(object);
  const name = fields.text('metadata.name');
  const apiVersion = fields.text('apiVersion');
  if (name === null || apiVersion === null) return null;
  const tags = fields.text(['metadata', 'annotations', TAGS_ANNOTATION]);
  return Object.freeze({
    apiVersion,
    name,
    uid: fields.text('metadata.uid'),
    directServer: directServer(fields),
    deleting: fields.text('metadata.deletionTimestamp') !== null,
    ...(tags === null ? {} : { tags: readTags(tags) }),
  });
}

/** As Cluster API writes it into a kubeconfig; null while the endpoint is not set, or where it could not be a host. */
function directServer(fields: ManifestFields): string | null {
  const host = fields.text('spec.controlPlaneEndpoint.host')?.replace(/^\[(.*)\]$/, '$1') ?? null;
  const port = fields.port('spec.controlPlaneEndpoint.port');
  if (host === null || port === null) return null;
  if (isIPv6(host)) return `https://[${host}]:${port}`;
  return /^[A-Za-z0-9](?:[-.A-Za-z0-9]{0,251}[A-Za-z0-9])?$/.test(host) ? `https://${host}:${port}` : null;
}
