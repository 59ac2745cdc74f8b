import { expect, test } from 'vitest';
import { KubeError, type KubeErrorFacts } from '../../kube/kube-error.ts';
import { apiTrouble } from './kubernetes-visit.ts';

const PLACE = { server: 'https://api.example:6443', identity: 'user "net-1" of /etc/kubeconfig' };
const trouble = (facts: Partial<KubeErrorFacts>) =>
  apiTrouble(
    new KubeError({ code: 'unreachable', verb: 'get', path: '/version', detail: 'why', ...facts }),
    PLACE,
  );

test.each<[facts: Partial<KubeErrorFacts>, found: string, fix: RegExp]>([
  [{ code: 'unauthorized', status: 401 }, 'refuses user "net-1"', /Renew that token or certificate/],
  [{ code: 'forbidden', status: 403 }, 'forbidden: cannot get', /Role or ClusterRole/],
  [{ code: 'timeout' }, 'https://api.example:6443 does not answer', /firewall/],
  [{ systemCode: 'ECONNREFUSED' }, 'why', /Nothing listens there/],
  [{ systemCode: 'ENOTFOUND' }, 'why', /cannot be resolved/],
  [{ systemCode: 'EHOSTUNREACH' }, 'why', /route/],
  [{ systemCode: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'why', /certificate-authority/],
  [{ systemCode: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }, 'why', /certificate-authority/],
  [{ systemCode: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'why', /tls-server-name/],
  [{ systemCode: 'CERT_HAS_EXPIRED' }, 'why', /Renew the API server's certificate/],
  [{ systemCode: 'CERT_NOT_YET_VALID' }, 'why', /Set the clock of this host/],
  [{ systemCode: 'EPROTO' }, 'why', /does not speak TLS/],
  [{ code: 'server-error', status: 500 }, 'why', /readyz/],
])('the error %j is explained: %s', (facts, found, fix) => {
  const finding = trouble(facts);
  expect(finding).toMatchObject({ kind: 'problem', found: expect.stringContaining(found) });
  expect('fix' in finding ? finding.fix : '').toMatch(fix);
});
