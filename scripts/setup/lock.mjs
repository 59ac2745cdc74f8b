// A lock between processes. It allows one set-up at a time in a clone: two compilers in the same directory corrupt each other's output.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM'; // the process exists and belongs to another user
  }
}

function holderOf(directory) {
  try {
    return Number(readFileSync(join(directory, 'pid'), 'utf8'));
  } catch {
    return undefined; // the holder has created the lock but not yet written its pid
  }
}

/** Runs `work` while holding the lock. Takes over a stale lock whose holder is dead. */
export async function withLock(directory, work) {
  mkdirSync(dirname(directory), { recursive: true });
  let waited = false;
  let nameless = 0;
  for (;;) {
    try {
      mkdirSync(directory);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = holderOf(directory);
    nameless = holder === undefined ? nameless + 1 : 0;
    if ((holder !== undefined && !isAlive(holder)) || nameless > 10) {
      rmSync(directory, { recursive: true, force: true });
      continue;
    }
    if (!waited)
      process.stderr.write(
        `· waiting for another npm command in this clone (process ${holder}) to set it up …\n`,
      );
    waited = true;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  writeFileSync(join(directory, 'pid'), String(process.pid));
  const release = () => rmSync(directory, { recursive: true, force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}
