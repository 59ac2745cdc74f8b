// The settings of the shipped manifest, and the changes that are rejected before a container starts.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { podSettings, settingsIn } from './pod-settings.ts';
import { runtimeConfig } from './runtime-config.ts';

const manifest = readFileSync(new URL('../../deploy/manifests/isthmus.yaml', import.meta.url), 'utf8');

test('the manifest requests SYS_ADMIN and no other capability', () => {
  expect(podSettings()).toMatchObject({
    uid: 0,
    capabilities: ['SYS_ADMIN'],
    privilegeEscalation: false,
    readOnlyRoot: true,
    hostNetwork: true,
    netns: { hostPath: '/run/netns', mountPath: '/run/netns', readOnly: true },
    directories: [{ hostPath: '/run/isthmus-pod', mountPath: '/run/isthmus-pod' }],
  });
});

test('on a Pod’s own network the manifest mounts no other directory of the host: there is no handover', () => {
  const settings = podSettings({ hostNetwork: false });
  expect(settings).toMatchObject({ hostNetwork: false, directories: [], capabilities: ['SYS_ADMIN'] });
  expect(settings.env.ISTHMUS_HANDOVER).toBeUndefined();
});

test.each([
  ['a privileged container', 'privileged: false', 'privileged: true', /is privileged/],
  ['capabilities that are not dropped', 'drop: [ALL]', 'drop: [NET_RAW]', /does not drop ALL/],
  ['access to all processes of the node', 'hostPID: false', 'hostPID: true', /sees all processes/],
  [
    'a mount without propagation',
    'mountPropagation: HostToContainer',
    'mountPropagation: None',
    /would not be seen/,
  ],
])('the setting is rejected: %s', (_, there, instead, problem) => {
  expect(manifest).toContain(there);
  expect(() => settingsIn(manifest.replace(there, instead))).toThrow(problem);
});

test('a container gets its capabilities as bounding, effective and permitted, never as ambient or inheritable', () => {
  const plan = {
    pod: podSettings(),
    rootfs: '/image',
    args: ['isthmus'],
    env: {},
    mounts: [],
    netnsPath: null,
    seccomp: null,
  };
  expect(runtimeConfig(plan)).toMatchObject({
    process: {
      noNewPrivileges: true,
      capabilities: {
        bounding: ['CAP_SYS_ADMIN'],
        effective: ['CAP_SYS_ADMIN'],
        permitted: ['CAP_SYS_ADMIN'],
        inheritable: [],
        ambient: [],
      },
    },
    root: { readonly: true },
    linux: { rootfsPropagation: 'rslave' },
  });
});
