// The return to the thread's own netns. If the return is known to be impossible, the addon refuses with a clear error. If it fails after
// the entry, the process aborts.
import { readlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { makeNetns } from '../support/network/netns.ts';
import { threadNetns } from '../support/process.ts';
import { type Caught, prologue, reportOf, runNode, sanitized } from './addon-process.ts';

const NO_WAY_BACK =
  '(this process could not return to its own network namespace, so it enters no other: it needs CAP_SYS_ADMIN in the ' +
  'user namespace that owns the network namespace in which it was started)';

describe('without the right to return', () => {
  // Root of a child user namespace owns the netns that it creates and may enter it. Its original netns belongs to the parent namespace.
  const inUserNamespace = [
    'unshare',
    '--user',
    '--map-root-user',
    'sh',
    '-c',
    `unshare --net sleep 600 & helper=$!
     own=$(readlink /proc/self/ns/net)
     while [ "$(readlink /proc/$helper/ns/net)" = "$own" ]; do sleep 0.01; done
     NETNS=/proc/$helper/ns/net "$@"; status=$?
     kill $helper; exit $status`,
    'sh',
  ];

  test('a process in a child user namespace gets EPERM from setns, and stays where it is', () => {
    const script = `
      const before = descriptors();
      const own = native.ownIdentity();
      const errors = [1, 2].map(() => caught(() => native.openNetns(process.env.NETNS)));
      report({ errors, path: process.env.NETNS, leaked: descriptors() - before, threads: threadNetns().length,
        own: native.ownIdentity() === own });`;
    const result = reportOf<{ errors: Caught[]; path: string }>(runNode(script, { wrap: inUserNamespace }));
    const { path } = result;
    const error = {
      code: 'EPERM',
      errno: -1,
      syscall: 'setns',
      path,
      message: `EPERM: operation not permitted, setns '${path}' ${NO_WAY_BACK}`,
    };
    expect(result).toEqual({ errors: [error, error], path, leaked: 0, threads: 1, own: true });
  });

  test('a process that may return but not enter gets EPERM from setns for that netns alone', () => {
    const { path } = makeNetns();
    const script = `
      const own = native.openNetns('/proc/self/ns/net');
      fs.closeSync(own.createTcpSocket(4));
      report(caught(() => native.openNetns(${JSON.stringify(path)})));`;
    expect(reportOf(runNode(script, { wrap: ['unshare', '--user', '--map-root-user', '--net'] }))).toEqual({
      code: 'EPERM',
      errno: -1,
      syscall: 'setns',
      path,
      message: `EPERM: operation not permitted, setns '${path}'`,
    });
  });

  // The sanitizer's runtime reads its options from /proc.
  test.skipIf(sanitized)(
    'a process without /proc gets a clear error, and can still set socket options',
    () => {
      const { path } = makeNetns();
      const script = `
      const errors = [caught(() => native.openNetns(${JSON.stringify(path)})), caught(() => native.ownIdentity())];
      const option = caught(() => native.setUserTimeout(9999, 1)).code;
      report({ errors, option });`;
      const error = {
        code: 'ENOENT',
        errno: -2,
        syscall: 'open',
        path: '/proc/thread-self/ns/net',
        message: "ENOENT: no such file or directory, open '/proc/thread-self/ns/net' (is /proc mounted?)",
      };
      expect(
        reportOf(
          runNode(script, {
            wrap: ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'],
          }),
        ),
      ).toEqual({ errors: [error, error], option: 'EBADF' });
    },
  );
});

describe('a return that fails after the entry', () => {
  // Closes the addon's descriptor of its own netns, as a double close elsewhere in the process would.
  const pullAway = `
    const home = fs.readlinkSync('/proc/thread-self/ns/net');
    for (const fd of fs.readdirSync('/proc/self/fd')) {
      try { if (fs.readlinkSync('/proc/self/fd/' + fd) === home) fs.closeSync(Number(fd)); } catch {}
    }`;
  const { path } = makeNetns();
  const PATH = JSON.stringify(path);

  test.each([
    [
      'createTcpSocket',
      'netns.createTcpSocket(4);',
      'cannot return to its own network namespace: EINVAL (errno 22)',
    ],
    // Its open() gets the same number, so the return leads to the netns that the thread is already in.
    [
      'openNetns',
      `native.openNetns(${PATH});`,
      'returned to a network namespace that is not its own: EBADF (errno 9)',
    ],
  ])('makes %s abort the process and say why', (_title, call, reason) => {
    const script = `
      const netns = native.openNetns(${PATH});
      fs.closeSync(netns.createTcpSocket(4)); // it works
      ${pullAway}
      report('before');
      try { ${call} } catch {}
      report('after');`;
    const ended = runNode(script);
    expect(ended).toMatchObject({ status: null, signal: 'SIGABRT', stdout: '"before"' });
    expect(ended.stderr.replace(/thread \d+/, 'thread N')).toBe(
      `isthmus linux-netns: FATAL: thread N ${reason}. Traffic of one tenant could reach another: aborting.\n`,
    );
  });

  test('in a worker also aborts the whole process, with or without listeners for SIGABRT', () => {
    const worker = `${prologue}
      const netns = native.openNetns(${PATH});
      ${pullAway}
      netns.createTcpSocket(4);`;
    const script = `
      process.on('SIGABRT', () => {});
      new Worker(${JSON.stringify(worker)}, { eval: true });
      setInterval(() => {}, 1000);`;
    const ended = runNode(script);
    expect(ended).toMatchObject({ status: null, signal: 'SIGABRT' });
    expect(ended.stderr).toContain('FATAL');
  });

  test('does not happen in the test process', () => {
    expect(threadNetns()).toEqual([readlinkSync('/proc/thread-self/ns/net')]);
  });
});

test('a handle whose descriptor now refers to another netns creates no socket there', () => {
  const [red, blue] = [makeNetns().path, makeNetns().path];
  const script = `
    const red = native.openNetns(${JSON.stringify(red)});
    for (const fd of fs.readdirSync('/proc/self/fd')) {
      try { if (fs.readlinkSync('/proc/self/fd/' + fd) === red.path) fs.closeSync(Number(fd)); } catch {}
    }
    const blue = native.openNetns(${JSON.stringify(blue)}); // gets the number
    const before = descriptors();
    const errors = [caught(() => red.createTcpSocket(4)), caught(() => blue.createTcpSocket(4))];
    report({ errors, made: descriptors() - before });`;
  const { errors, made } = reportOf<{ errors: (Caught | null)[]; made: number }>(runNode(script));
  expect(errors).toEqual([
    {
      code: 'EBADF',
      errno: -9,
      syscall: 'setns',
      path: red,
      message:
        `EBADF: bad file descriptor, setns '${red}' (the descriptor of this handle now refers to another network ` +
        'namespace: other code in this process closed it)',
    },
    null,
  ]);
  expect(made).toBe(1);
});
