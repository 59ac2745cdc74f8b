// One set-up at a time in one clone: two that compile into the same directory spoil each other's work.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM'; // somebody else's, but there
  }
}

function holderOf(directory) {
  try {
    return Number(readFileSync(join(directory, 'pid'), 'utf8'));
  } catch {
    return undefined; // just made, its pid not written yet
  }
}

/** Runs `work` while holding the lock; a lock whose holder is dead is taken over. */
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
