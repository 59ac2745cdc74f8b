import { describe, expect, test } from 'vitest';
import { containerSettings, type FirstProcess } from './service-settings.ts';

const SCRIPT = '/usr/local/bin/isthmus';
const SETTINGS = { ISTHMUS_MAX_PENDING_DIALS: '64' };
const line = (...parts: readonly string[]) => `${parts.join('\0')}\0`;
const at = (commandLine: string | null, more: Partial<FirstProcess> = {}) =>
  containerSettings({ commandLine, script: SCRIPT, realPath: (path) => path, ...more });

describe('the flags of process 1 of this container are settings of a command that runs beside it', () => {
  test.each<[form: string, args: string[], expected: Record<string, string>]>([
    ['with =', ['--max-pending-dials=64'], SETTINGS],
    ['with a value of its own', ['--max-pending-dials', '64'], SETTINGS],
    ['as a switch', ['--proxy-always'], { ISTHMUS_PROXY_ALWAYS: 'true' }],
    ['of a switch that is off', ['--proxy-always=false'], { ISTHMUS_PROXY_ALWAYS: 'false' }],
    ['with = in the value', ['--resource-tags=a=b'], { ISTHMUS_RESOURCE_TAGS: 'a=b' }],
    ['without a value', ['--default-cluster='], { ISTHMUS_DEFAULT_CLUSTER: '' }],
    ['several times', ['--threads=2', '--max-pending-dials', '64'], { ISTHMUS_THREADS: '2', ...SETTINGS }],
    ['not at all', [], {}],
  ])('%s', (_form, args, expected) => {
    expect(at(line('/usr/local/bin/node', SCRIPT, 'run', ...args))).toEqual(expected);
  });

  test('are taken also if the two commands name the program by different links', () => {
    const realPath = (path: string) => (path === '/bin/isthmus' ? SCRIPT : path);
    const text = line('/usr/local/bin/node', '/bin/isthmus', 'run', '--max-pending-dials=64');
    expect(at(text, { realPath })).toEqual(SETTINGS);
  });
});

describe('no setting is taken', () => {
  test.each<[from: string, commandLine: string | null]>([
    ['from an init of the host', line('/sbin/init')],
    ['from systemd with arguments', line('/lib/systemd/systemd', '--system', 'run', '--threads=2')],
    ['from another program on the same Node', line('node', '/srv/app.js', 'run', '--threads=2')],
    ['from another command of this program', line('node', SCRIPT, 'doctor', '--threads=2')],
    [
      'from an init of the container that starts the program',
      line('tini', '--', SCRIPT, 'run', '--threads=2'),
    ],
    ['from a process that hides its arguments', ''],
    ['without /proc', null],
  ])('%s', (_from, commandLine) => {
    expect(at(commandLine)).toEqual({});
  });

  test('if neither path leads to a file', () => {
    expect(at(line('node', SCRIPT, 'run', '--threads=2'), { realPath: () => null })).toEqual({});
  });
});
