import { describe, expect, test } from 'vitest';
import { type KubeconfigPlace, kubeconfigPlace } from './kubeconfig-place.ts';

const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
const inCluster = (server: string) => ({
  kind: 'in-cluster' as const,
  server,
  tokenFile: TOKEN,
  caFile: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
});

describe('the configuration for the API server is found', () => {
  test.each<
    [
      where: string,
      kubeconfig: string | null,
      environment: Record<string, string>,
      files: string[],
      place: KubeconfigPlace,
    ]
  >([
    [
      'at the explicit path, even if the file does not exist',
      '/k',
      { KUBECONFIG: '/e', ...POD, HOME: '/h' },
      [TOKEN, '/e', '/h/.kube/config'],
      { kind: 'files', paths: ['/k'] },
    ],
    [
      'in KUBECONFIG, before the service account',
      null,
      { KUBECONFIG: '/e', ...POD },
      [TOKEN, '/e'],
      { kind: 'files', paths: ['/e'] },
    ],
    [
      'in all existing files of KUBECONFIG',
      null,
      { KUBECONFIG: '/a::/b:/c' },
      ['/a', '/c'],
      { kind: 'files', paths: ['/a', '/c'] },
    ],
    [
      'in the service account of the Pod, before the home directory',
      null,
      { ...POD, HOME: '/h' },
      [TOKEN, '/h/.kube/config'],
      inCluster('https://10.0.0.1:443'),
    ],
    [
      'in the service account of the Pod, with an IPv6 address',
      null,
      { ...POD, KUBERNETES_SERVICE_HOST: 'fd00::1' },
      [TOKEN],
      inCluster('https://[fd00::1]:443'),
    ],
    [
      'in the home directory, when the Pod has no token',
      null,
      { ...POD, HOME: '/h', KUBECONFIG: '' },
      ['/h/.kube/config'],
      { kind: 'files', paths: ['/h/.kube/config'] },
    ],
  ])('%s', (_where, kubeconfig, environment, files, place) => {
    const exists = (path: string) => files.includes(path);
    expect(kubeconfigPlace({ kubeconfig, environment, exists })).toEqual(place);
  });

  test.each<[where: string, environment: Record<string, string>, files: string[]]>([
    ['nowhere with an empty environment', {}, []],
    ['nowhere if the home directory has no kubeconfig', { HOME: '/h' }, []],
    [
      'nowhere if KUBECONFIG names a missing file, without a search elsewhere',
      { KUBECONFIG: '/e', HOME: '/h' },
      ['/h/.kube/config'],
    ],
    ['nowhere if there is a token but no port of the API', { KUBERNETES_SERVICE_HOST: 'x' }, [TOKEN]],
  ])('%s', (_where, environment, files) => {
    expect(() =>
      kubeconfigPlace({ kubeconfig: null, environment, exists: (path) => files.includes(path) }),
    ).toThrowError(expect.objectContaining({ code: 'missing' }));
  });
});
