import { expect, test } from 'vitest';
import { type AddressInUseOptions, openUnlessInUse } from './address-in-use.ts';

const inUse = () => Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });

function harness(options: Partial<AddressInUseOptions<string>> & { readonly takenFor?: number } = {}) {
  const { takenFor = 0, ...rest } = options;
  const messages: string[] = [];
  let attempts = 0;
  const opened = openUnlessInUse({
    flag: 'listen',
    address: '*:6443',
    open: async () => {
      attempts += 1;
      if (attempts <= takenFor) throw inUse();
      return 'open';
    },
    owner: () => null,
    onWaiting: (message) => messages.push(message),
    stopping: () => false,
    limitMs: 60_000,
    pauseMs: 1,
    ...rest,
  });
  return { opened, messages, attempts: () => attempts };
}

test('an address of an invisible process is tried again until it is free, and logged once', async () => {
  const { opened, messages, attempts } = harness({ takenFor: 5 });
  expect(await opened).toBe('open');
  expect(attempts()).toBe(6);
  expect(messages).toEqual([
    '--listen *:6443 is in use by a process of another user or container: trying again for 60 s',
  ]);
});

test('an address that stays in use ends the attempts after the limit', async () => {
  const { opened } = harness({ takenFor: Number.POSITIVE_INFINITY, limitMs: 20 });
  await expect(opened).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message:
      '--listen *:6443 is in use by a process of another user or container: stop it, or choose another --listen',
  });
});

test('a visible process is named at once', async () => {
  const owner = () => ({ pid: 7, command: 'haproxy -f x' });
  const { opened, messages, attempts } = harness({ takenFor: 1, owner });
  await expect(opened).rejects.toThrow('--listen *:6443 is in use by process 7 (haproxy -f x): stop it');
  expect({ messages, attempts: attempts() }).toEqual({ messages: [], attempts: 1 });
});

test('a process that stops makes no further attempt', async () => {
  const { opened, attempts } = harness({ takenFor: Number.POSITIVE_INFINITY, stopping: () => true });
  await expect(opened).rejects.toThrow('is in use');
  expect(attempts()).toBe(1);
});

test('another error is passed on unchanged', async () => {
  const open = () => Promise.reject(Object.assign(new Error('no such address'), { code: 'EADDRNOTAVAIL' }));
  await expect(harness({ open }).opened).rejects.toThrow('no such address');
});
