import { expect, test } from 'vitest';
import { mountPlace } from './mount-propagation.ts';

const ROOT = '21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw';
const RUN = '22 21 0:20 / /run rw,nosuid shared:5 - tmpfs tmpfs rw';
const volume = (propagation: string) =>
  `900 21 0:20 /netns /run/netns ro,nosuid${propagation === '' ? '' : ` ${propagation}`} - tmpfs tmpfs rw`;

test.each<[title: string, lines: string[], expected: ReturnType<typeof mountPlace>]>([
  ['a host, where it is part of /run', [ROOT, RUN], { isMountPoint: false, propagation: 'shared' }],
  ['HostToContainer', [ROOT, volume('master:5')], { isMountPoint: true, propagation: 'slave' }],
  ['Bidirectional', [ROOT, volume('shared:9 master:5')], { isMountPoint: true, propagation: 'shared' }],
  ['a volume without propagation', [ROOT, volume('')], { isMountPoint: true, propagation: 'private' }],
  [
    'a mount that hides another',
    [ROOT, volume('master:5'), volume('')],
    { isMountPoint: true, propagation: 'private' },
  ],
  [
    'another place that begins alike',
    [ROOT, '23 21 0:9 / /run/netns-old rw - tmpfs t rw'],
    { isMountPoint: false, propagation: 'shared' },
  ],
  ['lines that are none', ['', 'x y z'], null],
])('%s', (_title, lines, expected) => {
  expect(mountPlace(lines.join('\n'), '/run/netns')).toEqual(expected);
});

test('a place with a blank in its name is found', () => {
  expect(mountPlace('9 1 0:1 / /a\\040b rw master:3 - tmpfs t rw', '/a b')).toEqual({
    isMountPoint: true,
    propagation: 'slave',
  });
});
