import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createLogger, type LoggerSettings } from './logger.ts';

const module = fileURLToPath(new URL('./logger.ts', import.meta.url));

const script = (settings: LoggerSettings, before = '') => `
  import { createLogger } from ${JSON.stringify(module)};
  const { logger, close } = await createLogger(${JSON.stringify(settings)});
  ${before}
  logger.debug('hidden?');
  logger.info({ cluster: 'kube', n: 1 }, 'cluster found');
  logger.fatal({ err: new Error('boom') }, 'the end');
  await close();
  process.exit(0);`;

/** The output of a process that logs and then exits. */
async function written(settings: LoggerSettings): Promise<string[]> {
  const args = ['--input-type=module', '-e', script(settings)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trimEnd().split('\n');
}

test.each([['json' as const], [null]])('format %s is JSON without a terminal', async (format) => {
  const lines = (await written({ level: 'info', format })).map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  );
  expect(lines).toEqual([
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

test('pretty is one readable line, without colour in a file', async () => {
  const lines = await written({ level: 'debug', format: 'pretty' });
  expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] DEBUG: hidden\?$/);
  expect(lines[1]).toMatch(/INFO: cluster found \{"cluster":"kube","n":1\}$/);
  expect(lines[2]).toMatch(/FATAL: the end/);
  expect(lines.join('\n')).toContain('boom');
  expect(lines.join('\n')).not.toContain('\u001b[');
});

test.each(['json', 'pretty'] as const)(
  'the process exits although its %s output is no longer read',
  async (format) => {
    const wait = `process.stderr.write('ready'); await new Promise((resolve) => process.stdin.once('data', resolve));`;
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      script({ level: 'info', format }, wait),
    ]);
    await once(child.stderr, 'data');
    child.stdout.destroy();
    child.stdin.write('go on\n');
    const [code] = await Promise.race([
      once(child, 'exit'),
      new Promise<[string]>((resolve) => setTimeout(() => resolve(['still there']), 60_000)),
    ]);
    child.kill('SIGKILL');
    expect(code).toBe(0);
  },
);

test('the logger uses the configured level', async () => {
  const { logger } = await createLogger({ level: 'warn', format: 'json' });
  expect(logger.isLevelEnabled('warn')).toBe(true);
  expect(logger.isLevelEnabled('info')).toBe(false);
});
