import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

const module = fileURLToPath(new URL('./logger.ts', import.meta.url));

/** What a process writes that logs and then ends at once. */
async function written(
  settings: { level: string; format: 'pretty' | 'json' | null },
  end: 'process.exit(0)' | "process.kill(process.pid, 'SIGKILL')" = 'process.exit(0)',
): Promise<string[]> {
  const script = `
    import { createLogger } from ${JSON.stringify(module)};
    const logger = createLogger(${JSON.stringify(settings)});
    logger.debug('hidden?');
    logger.info({ cluster: 'kube', n: 1 }, 'cluster found');
    logger.fatal({ err: new Error('boom') }, 'the end');
    ${end};`;
  const args = ['--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch(
    (error: { stdout: string }) => error,
  );
  return stdout.trimEnd().split('\n');
}

test.each([['json' as const], [null]])('format %s is JSON where nobody watches', async (format) => {
  const lines = (await written({ level: 'info', format })).map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  // The order is not asserted: a line that is under way when the process ends comes after those flushed at its exit.
  expect(lines.sort((a, b) => String(a.msg).localeCompare(String(b.msg)))).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      cluster: 'kube',
      n: 1,
      msg: 'cluster found',
    },
    {
      level: 'fatal',
      time: expect.any(String),
      err: expect.objectContaining({ type: 'Error', message: 'boom', stack: expect.any(String) }),
      msg: 'the end',
    },
  ]);
});

test('pretty is a line for people, without colour in a file, and not even SIGKILL loses the last one', async () => {
  const lines = await written({ level: 'debug', format: 'pretty' }, "process.kill(process.pid, 'SIGKILL')");
  expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] DEBUG: hidden\?$/);
  expect(lines[1]).toMatch(/INFO: cluster found \{"cluster":"kube","n":1\}$/);
  expect(lines[2]).toMatch(/FATAL: the end/);
  expect(lines.join('\n')).toContain('boom');
  expect(lines.join('\n')).not.toContain('\u001b[');
});

test('the level is the one that was set', () => {
  const logger = createLogger({ level: 'warn', format: 'json' });
  expect(logger.isLevelEnabled('warn')).toBe(true);
  expect(logger.isLevelEnabled('info')).toBe(false);
});
