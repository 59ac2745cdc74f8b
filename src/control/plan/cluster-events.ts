// Decides which changes of clusters become Kubernetes Events. Events show what happened to an OpenStackCluster. Normal conditions
// are not reported: most nodes cannot reach an API server on OVN, and proxies restart. At a start, only `invalid` is reported.
//
// | before → now                         | event                    | reported by                  |
// | anything → serving                   | Normal Proxied           | the instance that serves     |
// | serving → unhealthy, no-netns        | Warning Unhealthy, NoNetns | the instance that served   |
// | others → unhealthy, no-netns         | none                     |                              |
// | anything → pending                   | Normal Pending           | the first live instance      |
// | anything → invalid, or another reason | Warning NameInvalid, …  | the first live instance      |
// | anything known → not-proxied         | Normal NotProxied        | the first live instance      |
// | the certificate has none of the names | Warning CertificateNames | the first that serves        |
// | it ends within 30 days, or has ended | Warning CertificateExpires | the first that serves      |

import { expiryText, unverifiableText } from '../desired/cluster-certificate.ts';
import type { ClusterStatus } from '../desired/cluster-status.ts';
import { isClusterName } from '../objects/service-names.ts';
import type { EventDraft, EventReason, EventRules, StatusChange } from './status-events.ts';

function stateEvent({ status, was, isStarting, instance }: StatusChange<ClusterStatus>): EventDraft | null {
  const { state, reason } = status;
  switch (state) {
    case 'serving': {
      const message = `served by ${instance}: ${reason}`;
      return isStarting ? null : { type: 'Normal', reason: 'Proxied', message, shared: false };
    }
    case 'unhealthy':
    case 'no-netns':
      if (was?.state !== 'serving') return null;
      return {
        type: 'Warning',
        reason: state === 'unhealthy' ? 'Unhealthy' : 'NoNetns',
        message: `no longer served by ${instance}: ${reason}`,
        shared: false,
      };
    case 'pending':
      return isStarting ? null : { type: 'Normal', reason: 'Pending', message: reason, shared: true };
    case 'invalid':
      return { type: 'Warning', reason: invalidReason(status), message: reason, shared: true };
    case 'not-proxied':
      // A cluster that was never proxied causes no Event: most clusters never are.
      return was === null ? null : { type: 'Normal', reason: 'NotProxied', message: reason, shared: true };
  }
}

/** A cluster without server names has an unusable name: not valid for a Service, or in use by another cluster. */
function invalidReason({ name, serverNames }: ClusterStatus): EventReason {
  if (!isClusterName(name)) return 'NameInvalid';
  return serverNames.length === 0 ? 'NameConflict' : 'Invalid';
}

function certificateEvents({ status, was }: StatusChange<ClusterStatus>): readonly EventDraft[] {
  const { certificate, serverNames } = status;
  if (certificate === undefined) return [];
  const before = was?.certificate;
  const events: EventDraft[] = [];
  if (!certificate.verifies && before?.verifies !== false) {
    const message = unverifiableText(serverNames, certificate);
    events.push({ type: 'Warning', reason: 'CertificateNames', message, shared: 'serving' });
  }
  if (certificate.expiry !== 'valid' && before?.expiry !== certificate.expiry) {
    const message = expiryText(certificate);
    events.push({ type: 'Warning', reason: 'CertificateExpires', message, shared: 'serving' });
  }
  return events;
}

export const CLUSTER_EVENTS: EventRules<ClusterStatus> = {
  keyOf: ({ namespace, name, origin }) => `${namespace}/${name}/${origin}`,
  stateEvent,
  extraEvents: certificateEvents,
  waitsForFirst: false,
};
