// The definition of AdditionalListener on a real API server, which evaluates its CEL rules and shows its columns in kubectl.
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { additionalListenerBehaviour } from '../kube-api/behaviour-additional-listeners.ts';
import type { RawClient } from '../kube-api/raw-client.ts';
import { type ApiUnderTest, expectStatus } from '../kube-api/suite.ts';
import { until } from '../support/tcp.ts';
import { componentCommand } from './component.ts';
import { ControlPlane } from './control-plane.ts';

const NAMESPACE = 'magnum-system';
const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url));
const controlPlane = new ControlPlane();
let client: RawClient | null = null;

beforeAll(async () => {
  await controlPlane.start();
  client = controlPlane.client();
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  expectStatus(await client.post('/api/v1/namespaces', body), 201);
});
afterAll(async () => {
  client?.close();
  await controlPlane.stop();
});

describe('on a real API server', () =>
  additionalListenerBehaviour({
    get api(): ApiUnderTest {
      throw new Error('these need no other user, and no restart');
    },
    get client() {
      return client as RawClient;
    },
    namespace: NAMESPACE,
  }));

describe('with kubectl', () => {
  const kubeconfig = join(controlPlane.directory, 'listeners.kubeconfig');
  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const [command, all] = componentCommand('kubectl', [
      '--kubeconfig',
      kubeconfig,
      '-n',
      NAMESPACE,
      ...args,
    ]);
    return (await promisify(execFile)(command, all)).stdout;
  };
  beforeAll(() => writeFileSync(kubeconfig, controlPlane.kubeconfig()));
  afterAll(() => rmSync(kubeconfig, { force: true }));

  test('the definition and every example are applied unchanged', async () => {
    await kubectl('apply', '-f', join(DEPLOY, 'crds', 'additionallisteners.isthmus.dev.yaml'));
    await until(
      'it can be asked for',
      () =>
        kubectl('get', 'al').then(
          () => true,
          () => false,
        ),
      120_000,
    );
    const applied = await kubectl('apply', '-f', join(DEPLOY, 'examples', 'listeners'));
    expect(applied.trim().split('\n').length).toBe(5);
    const again = await kubectl('apply', '-f', join(DEPLOY, 'examples', 'listeners'));
    expect(
      again
        .trim()
        .split('\n')
        .every((line) => line.endsWith('unchanged')),
    ).toBe(true);
  });

  test('a list shows the columns that an operator needs', async () => {
    const lines = (await kubectl('get', 'al')).split('\n');
    expect(lines[0]).toMatch(
      /^NAME +CLUSTER +PROTOCOL +PORT +SERVICE +ACCEPTED +READY +MEMBERS +IGNORED +AGE/,
    );
    expect(lines.find((line) => line.startsWith('konnectivity'))).toMatch(/kube-1 +TLS +8132/);
  });

  test('a promotion is one patch', async () => {
    const patch = '{"spec":{"rolloutLabels":{"generation":"green"}}}';
    expect(await kubectl('patch', 'al', 'web', '--type', 'merge', '-p', patch)).toContain('patched');
  });

  test('every field has an explanation', async () => {
    expect(await kubectl('explain', 'additionallistener.spec.rolloutLabels')).toContain('rollout');
  });
});
