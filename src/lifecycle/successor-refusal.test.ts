import { expect, test } from 'vitest';
import { type SocketOwner, type SuccessorClaim, successorRefusal } from './successor-refusal.ts';

const POD = 'ns/isthmus:7';

test.each<
  [title: string, owner: Partial<SocketOwner>, claim: Partial<SuccessorClaim>, refusal: RegExp | null]
>([
  ['a process of the same host', {}, {}, null],
  ['another container', { pid: 1 }, { pid: 0 }, null],
  ['a second process in a container', { pid: 1 }, {}, /new Pod or container/],
  ['a second process with --take-over', { pid: 1 }, { takeOver: true }, /new Pod or container/],
  ['a newer Pod', { daemonSet: POD }, { daemonSet: 'ns/isthmus:8' }, null],
  ['a restarted Pod', { daemonSet: POD }, { daemonSet: POD }, null],
  ['an older Pod', { daemonSet: POD }, { daemonSet: 'ns/isthmus:6' }, /generation 7, .* 6\).*--take-over/],
  ['an older Pod with --take-over', { daemonSet: POD }, { daemonSet: 'ns/isthmus:6', takeOver: true }, null],
  [
    'a Pod of another DaemonSet',
    { daemonSet: POD },
    { daemonSet: 'ns/other:8' },
    /DaemonSet ns\/isthmus, .* ns\/other: /,
  ],
  ['a process that names no DaemonSet, as an older release', { daemonSet: POD }, {}, null],
  ['a Pod after a process without a DaemonSet', {}, { daemonSet: POD }, null],
  ['a Pod with a generation that is not a number', { daemonSet: POD }, { daemonSet: 'ns/isthmus:x' }, null],
])('%s gets the sockets, or a refusal that says why', (_title, owner, claim, refusal) => {
  const reason = successorRefusal(
    { pid: 100, daemonSet: null, ...owner },
    { pid: 200, daemonSet: null, takeOver: false, ...claim },
  );
  if (refusal === null) expect(reason).toBeNull();
  else expect(reason).toMatch(refusal);
});
