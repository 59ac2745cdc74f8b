// Runs one step of the set-up as a child process and shows its progress. Shows the step's output only if it fails.
import { spawn } from 'node:child_process';

const TAIL_BYTES = 16 * 1024;

/** `progress` receives each chunk of output and returns the text to show next to the elapsed seconds. */
export function runStep(title, command, args, { progress = () => '', ...options } = {}) {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const seconds = () => Math.round((Date.now() - started) / 1000);
    const terminal = process.stderr.isTTY === true;
    if (terminal) process.stderr.write(`· ${title} …`);
    else process.stderr.write(`· ${title} …\n`);
    let tail = '';
    let detail = '';
    const keep = (chunk) => {
      tail = (tail + chunk).slice(-TAIL_BYTES);
      detail = progress(String(chunk));
    };
    const timer = setInterval(
      () => {
        const shown = detail === '' ? `${seconds()} s` : `${seconds()} s, ${detail}`;
        process.stderr.write(terminal ? `\r· ${title} … ${shown}` : `  still running: ${title}, ${shown}\n`);
      },
      terminal ? 1000 : 10_000,
    );
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    // When this process is stopped, its child must stop too: a compiler would otherwise run for minutes.
    const abandon = () => child.kill();
    const leave = (signal) => {
      abandon();
      process.exit(signal === 'SIGINT' ? 130 : 143);
    };
    process.once('exit', abandon);
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave);
    const finish = (problem) => {
      clearInterval(timer);
      process.off('exit', abandon);
      for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, leave);
      if (problem === undefined) {
        process.stderr.write(
          terminal ? `\r✓ ${title} (${seconds()} s)\x1b[K\n` : `✓ ${title} (${seconds()} s)\n`,
        );
        resolve();
        return;
      }
      process.stderr.write(`${terminal ? '\r' : ''}✗ ${title}: ${problem}\n${tail}\n`);
      reject(new Error(`${title}: ${problem}`));
    };
    child.on('error', (error) => finish(error.message));
    child.on('close', (code, signal) =>
      finish(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`),
    );
  });
}
