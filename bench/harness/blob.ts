// Where the senders of bulk keep what they send: a tmpfs of huge pages, so that its layout in memory is the same in every run.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';

const PLACE = '/run/bench-blob';
let found: string | undefined;

/** Empty where the kernel has no such tmpfs. Mounted once, in the sandbox, and gone with it. */
export function blobDirectory(): string {
  if (found !== undefined) return found;
  mkdirSync(PLACE, { recursive: true });
  const { status, stderr } = spawnSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    'huge=always,size=64m',
    'bench-blob',
    PLACE,
  ]);
  if (status !== 0) console.error(`bulk is sent from scattered pages, no tmpfs of huge pages: ${stderr}`);
  found = status === 0 ? PLACE : '';
  return found;
}
