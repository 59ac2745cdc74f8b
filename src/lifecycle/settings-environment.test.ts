import { expect, test } from 'vitest';
import { settingsOf, successorEnvironment } from './settings-environment.ts';

const OWN = {
  PATH: '/bin',
  NOTIFY_SOCKET: '/run/n',
  WATCHDOG_USEC: '1',
  WATCHDOG_PID: '7',
  LISTEN_FDS: '1',
  ISTHMUS_LISTEN: '6443',
  KUBECONFIG: '/a',
};

test('only variables that configure this program are settings', () => {
  expect(settingsOf({ ...OWN, PROXY_PORT: '1', HOME: '/root', POD_IP: undefined })).toEqual({
    ISTHMUS_LISTEN: '6443',
    KUBECONFIG: '/a',
    PROXY_PORT: '1',
  });
});

test('a successor gets our environment without the variables for our process only', () => {
  expect(successorEnvironment(OWN, null)).toEqual({
    PATH: '/bin',
    NOTIFY_SOCKET: '/run/n',
    WATCHDOG_USEC: '1',
    ISTHMUS_LISTEN: '6443',
    KUBECONFIG: '/a',
  });
});

test('given settings replace all our settings, and no other variable', () => {
  expect(successorEnvironment(OWN, { KUBECONFIG: '/b', PATH: '/evil', NOTIFY_SOCKET: '/x' })).toEqual({
    PATH: '/bin',
    NOTIFY_SOCKET: '/run/n',
    WATCHDOG_USEC: '1',
    KUBECONFIG: '/b',
  });
});
