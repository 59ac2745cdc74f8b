// Runs a shell script under the directives of isthmus.service: the same unit file with another ExecStart=, and without the directives
// that a test takes away.
import { readFileSync } from 'node:fs';
import type { Machine } from './machine.ts';

const UNIT = new URL('../../../deploy/systemd/isthmus.service', import.meta.url);
/** What concerns the program and its supervision, not what the process may do. */
const SUPERVISION =
  /^(Type|NotifyAccess|EnvironmentFile|Environment|ExecStart|ExecReload|Restart\w*|WatchdogSec|Timeout\w+|SyslogIdentifier|KillMode)$/;

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

/** The output of the script, which may fail. */
export async function underUnit(
  machine: Machine,
  script: string,
  without: readonly string[] = [],
): Promise<string> {
  const unknown = without.filter((name) => !LIMITS.includes(name));
  if (unknown.length > 0) throw new Error(`isthmus.service has no ${unknown.join(', ')}`);
  const kept = directives().filter(({ name }) => !without.includes(name));
  const lines = [
    '[Service]',
    'Type=oneshot',
    'ExecStart=-/bin/sh /opt/probe.sh',
    'StandardOutput=truncate:/run/probe-output',
    'StandardError=inherit',
    ...kept.map(({ line }) => line.replace('Directory=isthmus', 'Directory=isthmus-probe')),
  ];
  machine.write('/run/systemd/system/isthmus-probe.service', `${lines.join('\n')}\n`);
  machine.write('/opt/probe.sh', `${script}\n`, 0o755);
  machine.write('/run/probe-output', '');
  await machine.sh('rm -rf /etc/isthmus-probe; systemctl daemon-reload; systemctl start isthmus-probe');
  return machine.sh('cat /run/probe-output');
}
