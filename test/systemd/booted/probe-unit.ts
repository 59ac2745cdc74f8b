// Runs a shell script under the directives of isthmus.service: the same unit file with another ExecStart=, and without the directives
// that a test takes away.
import { readFileSync } from 'node:fs';
import type { BootedMachine } from './machine.ts';

const UNIT = new URL('../../../deploy/systemd/isthmus.service', import.meta.url);
export const PROBE = 'isthmus-probe.service';
/** What concerns the program and its supervision, not what the process may do. */
const SUPERVISION =
  /^(Type|NotifyAccess|EnvironmentFile|Environment|ExecStart|ExecReload|ExecStopPost|Restart\w*|WatchdogSec|Timeout\w+|SyslogIdentifier|KillMode)$/;

interface Directive {
  readonly name: string;
  readonly line: string;
}

function directives(): readonly Directive[] {
  const [, service = ''] = /\[Service\]\n([\s\S]*?)\n\[Install\]/.exec(readFileSync(UNIT, 'utf8')) ?? [];
  return service
    .split('\n')
    .filter((line) => /^\w+=/.test(line))
    .map((line) => ({ name: line.slice(0, line.indexOf('=')), line }))
    .filter(({ name }) => !SUPERVISION.test(name));
}

/** The names of all directives that limit the process. */
export const LIMITS: readonly string[] = [...new Set(directives().map(({ name }) => name))];

/** The groups of system calls that the unit removes from the allowed ones. */
export const REMOVED_CALLS: readonly string[] = directives()
  .filter(({ line }) => line.startsWith('SystemCallFilter=~'))
  .flatMap(({ line }) => line.slice(line.indexOf('~') + 1).split(' '));

/** The output of the script, which may fail. */
export async function underUnit(
  machine: BootedMachine,
  script: string,
  without: readonly string[] = [],
): Promise<string> {
  machine.write('/opt/probe.sh', `${script}\n`, 0o755);
  machine.write('/run/probe-output', '');
  await machine.sh('rm -rf /etc/isthmus-probe');
  await start(machine, without, [
    'Type=oneshot',
    'ExecStart=-/bin/sh /opt/probe.sh',
    'StandardOutput=truncate:/run/probe-output',
    'StandardError=inherit',
  ]);
  return machine.sh('cat /run/probe-output');
}

/** A process that stays until the unit is stopped. */
export const sleepUnderUnit = (machine: BootedMachine, without: readonly string[] = []): Promise<void> =>
  start(machine, without, ['Type=exec', 'ExecStart=/bin/sleep infinity']);

async function start(
  machine: BootedMachine,
  without: readonly string[],
  program: readonly string[],
): Promise<void> {
  const unknown = without.filter((name) => !LIMITS.includes(name));
  if (unknown.length > 0) throw new Error(`isthmus.service has no ${unknown.join(', ')}`);
  const kept = directives()
    .filter(({ name }) => !without.includes(name))
    .map(({ line }) => line.replace('Directory=isthmus', 'Directory=isthmus-probe'));
  machine.write(`/run/systemd/system/${PROBE}`, `${['[Service]', ...program, ...kept].join('\n')}\n`);
  await machine.sh(`systemctl daemon-reload; systemctl start ${PROBE}`);
}
