// The behaviour suite on a real kube-apiserver with the real garbage collector: the reference for the in-memory API.
import type { AccessRule } from '../fake-kube-api/http/access.ts';
import { apiBehaviour } from '../kube-api/behaviour.ts';
import { definitionsToTry } from '../kube-api/definitions.ts';
import type { RawClient } from '../kube-api/raw-client.ts';
import { expectStatus } from '../kube-api/suite.ts';
import { ControlPlane } from './control-plane.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const USERS = Array.from({ length: 20 }, (_, index) => `restricted-${index}`);

/** A Role for each namespace in the rules, bound to this user only. */
async function bind(admin: RawClient, user: string, rules: readonly AccessRule[]): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  for (const [index, { namespace, ...rule }] of rules.entries()) {
    const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const kind = namespace === undefined ? 'ClusterRole' : 'Role';
    const metadata = { name: `${user}-${index}` };
    const roles = `${RBAC}${scope}/${kind.toLowerCase()}s`;
    expectStatus(await admin.post(roles, { apiVersion, kind, metadata, rules: [rule] }), 201);
    const binding = {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    };
    expectStatus(await admin.post(`${RBAC}${scope}/${kind.toLowerCase()}bindings`, binding), 201);
  }
}

apiBehaviour(async () => {
  const controlPlane = new ControlPlane({ users: USERS });
  await controlPlane.start();
  controlPlane.startControllers('garbage-collector-controller', 'namespace-controller');
  const client = controlPlane.client();
  const clients: RawClient[] = [];
  return {
    client,
    async restricted(rules) {
      const user = USERS[clients.length] as string;
      await bind(client, user, rules);
      const made = controlPlane.client(user);
      clients.push(made);
      await controlPlane.untilRulesOf(made, rules);
      return made;
    },
    async restart() {
      await controlPlane.stopApiServer();
      await controlPlane.startApiServer();
    },
    async stop() {
      for (const each of clients) each.close();
      await controlPlane.stop();
    },
  };
}, definitionsToTry());
