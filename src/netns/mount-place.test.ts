import { expect, test } from 'vitest';
import { mountPlace } from './mount-place.ts';

const ROOT = '21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw';
const RUN = '22 21 0:20 / /run rw,nosuid shared:5 - tmpfs tmpfs rw';
const volume = (propagation: string) =>
  `900 21 0:20 /netns /run/netns ro,nosuid${propagation === '' ? '' : ` ${propagation}`} - tmpfs tmpfs rw`;

test.each<[title: string, lines: string[], expected: object | null]>([
  ['a host, where it is part of /run', [ROOT, RUN], { isOfRoot: false, propagation: 'shared' }],
  ['HostToContainer', [ROOT, volume('master:5')], { isOfRoot: false, propagation: 'slave' }],
  ['Bidirectional', [ROOT, volume('shared:9 master:5')], { isOfRoot: false, propagation: 'shared' }],
  ['a volume without propagation', [ROOT, volume('')], { isOfRoot: false, propagation: 'private' }],
  [
    'a mount that hides another',
    [ROOT, volume('master:5'), volume('')],
    { isOfRoot: false, propagation: 'private' },
  ],
  [
    'a mount whose path only begins the same',
    [ROOT, '23 21 0:9 / /run/netns-old rw - tmpfs t rw'],
    { isOfRoot: true, propagation: 'shared' },
  ],
  ['lines without a mount', ['', 'x y z'], null],
])('%s', (_title, lines, expected) => {
  const found = mountPlace(lines.join('\n'), '/run/netns');
  expect(found).toEqual(expected === null ? null : { ...expected, lostReadOnly: false });
});

// Captured after `ip netns add`, in containers of crun and runc that were started before it.
const OVER = '127 900 0:20 /netns /run/netns rw,relatime master:5 - tmpfs tmpfs rw';

test.each<[title: string, lines: string[], lost: boolean]>([
  ['a mount of the host over one that was read-only', [ROOT, volume('master:5'), OVER], true],
  ['two mounts of the host over it', [ROOT, volume('master:5'), OVER, OVER], true],
  ['a mount that is read-only too', [ROOT, OVER, volume('master:5')], false],
  ['a mount that was writable from the start', [ROOT, OVER, OVER], false],
  ['a read-only one further up', [ROOT, RUN.replace(' rw,', ' ro,'), OVER], false],
])('read-only is lost under %s: %s', (_title, lines, lost) => {
  expect(mountPlace(lines.join('\n'), '/run/netns')?.lostReadOnly).toBe(lost);
});

test('a path with a blank is found', () => {
  expect(mountPlace('9 1 0:1 / /a\\040b rw master:3 - tmpfs t rw', '/a b')).toEqual({
    isOfRoot: false,
    propagation: 'slave',
    lostReadOnly: false,
  });
});
