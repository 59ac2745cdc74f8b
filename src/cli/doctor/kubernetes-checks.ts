// The checks of the Kubernetes API, from the credentials to the CRD, in the order in which a client needs them. The first problem is
// therefore the cause.

import { KNOWN_VERSIONS, OPENSTACK_CLUSTER_GROUP } from '../../control/sources/openstack-cluster-layout.ts';
import { KubeconfigError } from '../../kube/credentials/kubeconfig-error.ts';
import { openKubeClient } from '../../kube/kube-client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { servedVersion } from '../../kube/served-version.ts';
import type { RunConfig } from '../config/config.ts';
import { type Check, ok, problem, warning } from './check.ts';
import { type KubernetesVisit, REQUEST_MS } from './kubernetes-visit.ts';

export interface CredentialsQuestion {
  readonly config: Pick<RunConfig, 'kubeconfig'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
}

export function credentialsCheck(
  visit: KubernetesVisit,
  { config, environment, version }: CredentialsQuestion,
): Check {
  return {
    name: 'credentials',
    run: async () => {
      try {
        const { kubeconfig } = config;
        const client = await openKubeClient({
          kubeconfig,
          environment,
          userAgent: `isthmus-doctor/${version}`,
        });
        visit.opened(client);
        return ok(client.identity);
      } catch (error) {
        if (!(error instanceof KubeconfigError)) throw error;
        return problem(
          error.message,
          error.code === 'missing'
            ? 'Name a kubeconfig (--kubeconfig or KUBECONFIG), or give the Pod a service account; --source file:<dir> needs neither.'
            : 'Correct that file, or let this user read it.',
        );
      }
    },
  };
}

export function apiCheck(visit: KubernetesVisit, wallNow: () => number): Check {
  return {
    name: 'api',
    after: ['credentials'],
    run: async () => {
      const { client } = visit;
      const askedAtMs = wallNow();
      const onHeaders = ({ date }: { readonly date?: string | undefined }) => {
        const serverMs = Date.parse(date ?? '');
        // Date has whole seconds, rounded down: +500 ms is the best estimate. The server wrote it between the request and now.
        if (!Number.isNaN(serverMs)) visit.skewMs = serverMs + 500 - (askedAtMs + wallNow()) / 2;
      };
      const scheme = client.server.startsWith('https:')
        ? 'reached, and its certificate is trusted'
        : 'reached';
      try {
        const version = await client.request<{ readonly gitVersion?: unknown } | undefined>({
          method: 'GET',
          path: '/version',
          timeoutMs: REQUEST_MS,
          onHeaders,
        });
        const { gitVersion = 'of an unknown version' } = version ?? {};
        return ok(`${client.server} is ${scheme}: Kubernetes ${gitVersion}`);
      } catch (error) {
        // The server answers. The login check tests the credentials.
        if (error instanceof KubeError && (error.code === 'unauthorized' || error.code === 'forbidden'))
          return ok(`${client.server} is ${scheme}`);
        return visit.trouble(error);
      }
    },
  };
}

const MAX_SKEW_MS = 5000;

export function clockCheck(visit: KubernetesVisit): Check {
  return {
    name: 'clock',
    after: ['api'],
    run: () => {
      const { skewMs } = visit;
      if (skewMs === null) return ok('the API server sends no time');
      const seconds = Math.round(Math.abs(skewMs) / 1000);
      if (Math.abs(skewMs) <= MAX_SKEW_MS) return ok('the same as on the API server');
      return warning(
        `this host is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the API server`,
        'Synchronise both clocks (chrony, systemd-timesyncd): certificates and tokens depend on them.',
      );
    },
  };
}

const ANONYMOUS = 'system:anonymous';

export function loginCheck(visit: KubernetesVisit): Check {
  return {
    name: 'login',
    after: ['api'],
    run: async () => {
      const { client } = visit;
      try {
        const review = await client.request<{
          readonly status?: { readonly userInfo?: { readonly username?: string } };
        }>({
          method: 'POST',
          path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
          timeoutMs: REQUEST_MS,
        });
        visit.user = review.status?.userInfo?.username ?? null;
      } catch (error) {
        const isSilent =
          error instanceof KubeError && (error.code === 'not-found' || error.code === 'forbidden');
        // SelfSubjectReview exists since Kubernetes 1.28. The rights check does not depend on it.
        if (!isSilent) return visit.trouble(error);
        if (error.message.includes(ANONYMOUS)) visit.user = ANONYMOUS;
      }
      if (visit.user === ANONYMOUS)
        return problem(
          `the API server accepts the request only as the anonymous user (${ANONYMOUS})`,
          'Put a token or a client certificate into the kubeconfig.',
        );
      return ok(visit.user === null ? 'the credentials are accepted' : `authenticated as ${visit.user}`);
    },
  };
}

const RESOURCE = 'openstackclusters';

export function definitionCheck(visit: KubernetesVisit): Check {
  return {
    name: 'crd',
    after: ['login'],
    run: async () => {
      const name = `${RESOURCE}.${OPENSTACK_CLUSTER_GROUP}`;
      try {
        const served = await servedVersion({
          client: visit.client,
          group: OPENSTACK_CLUSTER_GROUP,
          resource: RESOURCE,
          known: [...KNOWN_VERSIONS].reverse(),
          timeoutMs: REQUEST_MS,
        });
        switch (served.kind) {
          case 'served':
            return ok(`${name} is served, and read in ${served.version}`);
          case 'not-installed':
            return problem(
              `${name} is not installed: no cluster will be found`,
              'Install the OpenStack provider of Cluster API, or name the kubeconfig of the cluster that has it.',
            );
          case 'unknown-version':
            return problem(
              `${name} is served only in ${served.versions.join(', ')}; this program reads ${KNOWN_VERSIONS.join(', ')}`,
              'Upgrade isthmus, or let the CRD serve one of these versions too.',
            );
        }
      } catch (error) {
        return visit.trouble(error);
      }
    },
  };
}
