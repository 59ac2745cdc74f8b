// Faults of a new release, each with the text in which an operator can read its cause.

import { NAMESPACE } from '../e2e/workload.ts';
import type { StoredObject } from '../fake-kube-api/stored-object.ts';
import { expectStatus } from '../kube-api/suite.ts';
import type { Bed } from './bed.ts';
import type { Values } from './release.ts';

/** A port that another program has on each node. It is not one of `listeners.ports`. */
export const TAKEN_PORT = 27_777;
const TOKEN_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';
const RBAC = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;

/** Values for Helm, or a patch of the Pod template for what the chart does not offer. */
export type Change =
  | { readonly values: Values }
  | { readonly podSpec: object; readonly prepare?: (bed: Bed) => Promise<unknown> };

export interface Fault {
  readonly title: string;
  readonly change: Change;
  /** In the report of `isthmus doctor` inside the new Pod, or in its log if its container does not stay up. */
  readonly doctor?: RegExp;
  readonly log?: RegExp;
  /** Whether CI tries it too. */
  readonly short?: boolean;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const container = (change: object): object => ({ containers: [{ name: 'isthmus', ...change }] });

async function secret(bed: Bed, name: string, token: string): Promise<void> {
  const inNamespace = ['-n', NAMESPACE];
  const parts = { token, namespace: NAMESPACE, 'ca.crt': bed.management.controlPlane.ca };
  const literals = Object.entries(parts).map(([key, value]) => `--from-literal=${key}=${value}`);
  await bed.kubectl(...inNamespace, 'delete', 'secret', name, '--ignore-not-found');
  await bed.kubectl(...inNamespace, 'create', 'secret', 'generic', name, ...literals);
}

async function account(bed: Bed, name: string, rules: readonly Rule[]): Promise<void> {
  const { client } = bed.management;
  const metadata = { name };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  const subjects = [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }];
  for (const [path, object] of [
    [`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata }],
    [`${RBAC}/roles`, { metadata, rules }],
    [`${RBAC}/rolebindings`, { metadata, roleRef, subjects }],
  ] as const)
    expectStatus(await client.post(path, object as unknown as StoredObject), 201);
}

/** The rules of the release without the verbs that write. */
async function readRules(bed: Bed): Promise<Rule[]> {
  const { rules } = expectStatus(await bed.management.client.get(`${RBAC}/roles/isthmus`), 200).body;
  return (rules as Rule[])
    .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => ['get', 'list', 'watch'].includes(verb)) }))
    .filter(({ verbs }) => verbs.length > 0);
}

/** The image ships an empty /run/netns, so a Pod without the mount finds a directory without namespaces. */
export const NO_NETNS: Fault = {
  title: 'the directory of namespaces is not mounted',
  change: { podSpec: container({ volumeMounts: [{ mountPath: '/run/netns', $patch: 'delete' }] }) },
  doctor: /^problem +netns/m,
};

export const WRONG_TOKEN: Fault = {
  title: 'a token that the API server rejects',
  change: {
    prepare: (bed) => secret(bed, 'wrong-token', 'not-a-token'),
    podSpec: {
      volumes: [{ name: 'credentials', secret: { secretName: 'wrong-token' } }],
      ...container({ volumeMounts: [{ name: 'credentials', mountPath: TOKEN_DIRECTORY, readOnly: true }] }),
    },
  },
  doctor: /^problem +login/m,
  short: true,
};

/** The program ends this many milliseconds after it was ready: it answered 200 after another status. */
const CRASHES_AFTER_MS = 5000;
const CRASHING_PRELOAD = `
import { isMainThread } from 'node:worker_threads';
if (isMainThread && process.argv[2] === 'run') {
  let waited = false;
  const timer = setInterval(async () => {
    const ready = await fetch('http://127.0.0.1:9581/readyz').then(({ ok }) => ok, () => false);
    if (!ready) waited = true;
    if (!ready || !waited) return;
    clearInterval(timer);
    setTimeout(() => process.exit(70), ${CRASHES_AFTER_MS});
  }, 50);
}`;
/** A new version that works at first. The old Pod has handed its sockets over when it crashes. */
export const CRASHES_WHEN_READY: Change = {
  values: {
    extraEnv: [
      {
        name: 'NODE_OPTIONS',
        value: `--import=data:text/javascript,${encodeURIComponent(CRASHING_PRELOAD)}`,
      },
    ],
  },
};

export const FAULTS: readonly Fault[] = [
  WRONG_TOKEN,
  {
    title: 'a flag that does not exist',
    change: { values: { extraArgs: ['--no-such-flag'] } },
    log: /--no-such-flag/,
    short: true,
  },
  NO_NETNS,
  {
    title: 'an account without a needed right',
    change: {
      prepare: (bed) =>
        account(bed, 'weak', [
          {
            apiGroups: ['infrastructure.cluster.x-k8s.io'],
            resources: ['openstackclusters'],
            verbs: ['list', 'watch'],
          },
        ]),
      podSpec: { serviceAccountName: 'weak' },
    },
    doctor: /^problem +rights/m,
  },
  {
    title: 'an account that may read everything and write nothing',
    change: {
      prepare: async (bed) => account(bed, 'reader', await readRules(bed)),
      podSpec: { serviceAccountName: 'reader' },
    },
    doctor: /^problem +rights/m,
  },
  {
    title: 'an API server that does not answer',
    change: { values: { apiServer: { host: '10.250.0.99', port: 6443 } } },
    doctor: /^problem +api .*10\.250\.0\.99/m,
  },
  {
    title: 'an image that crashes',
    change: { values: { image: { tag: 'crash' } } },
    log: /crashes on purpose/,
  },
  {
    title: 'a port that another program uses',
    change: { values: { listen: { port: TAKEN_PORT } } },
    log: new RegExp(`--listen \\S*${TAKEN_PORT} is in use by`),
  },
];
