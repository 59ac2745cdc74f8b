// The command line from the user's point of view: help, mistakes, exit codes.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { mainScript } from '../support/isthmus.ts';

const directory = mkdtempSync(join(tmpdir(), 'isthmus-test-cli-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function isthmus(...args: string[]) {
  return isthmusWith({}, ...args);
}

function isthmusWith(environment: Record<string, string>, ...args: string[]) {
  return spawnSync(process.execPath, [mainScript, ...args], {
    encoding: 'utf8',
    timeout: 120_000,
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
}

describe('help', () => {
  test('prints help and exits with an error without arguments, and exits with 0 for --help', () => {
    expect(isthmus()).toMatchObject({
      status: 2,
      stdout: expect.stringContaining('Usage: isthmus <command>'),
    });
    expect(isthmus('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Usage: isthmus <command>'),
    });
  });

  test.each(['run', 'status', 'top', 'explain', 'doctor', 'demo'])('%s --help shows examples', (command) => {
    const { status, stdout } = isthmus(command, '--help');
    expect(status).toBe(0);
    expect(stdout).toContain(command === 'demo' ? 'npm run demo' : `isthmus ${command} `);
  });

  test('prints the version', () => {
    expect(isthmus('version').stdout).toMatch(/^isthmus \d+\.\d+\.\d+ \(Node \d+/);
    expect(isthmus('--version').stdout).toBe(isthmus('version').stdout);
  });
});

describe('the answer to a mistake', () => {
  test('suggests the most similar command for an unknown command', () => {
    expect(isthmus('runn')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("did you mean 'run'?"),
    });
  });

  test('lists all mistakes in the configuration at once and exits with code 2', () => {
    const { status, stderr, stdout } = isthmusWith(
      { ISTHMUS_HEALTH_RISE: 'two' },
      'run',
      '--listen',
      'example.org:6443',
      '--hello-timeout',
      '5',
      '--helth',
      'tls',
    );
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('4 problems with the configuration:');
    expect(stderr).toContain('--listen: "example.org:6443" is not valid. Use a port or <address>:<port>');
    expect(stderr).toContain('--hello-timeout: "5" is not valid. Use a duration');
    expect(stderr).toContain('--helth: this flag does not exist; did you mean --health?');
    expect(stderr).toContain('ISTHMUS_HEALTH_RISE: "two" is not valid. Use a whole number from 1 to 100');
  });

  test('names each mistake in labels, and names the file of an invalid selector', () => {
    const { status, stderr } = isthmusWith(
      { ISTHMUS_NODE_SELECTOR: '@/nowhere/selector.json' },
      'run',
      '--resource-tags=team,kubernetes.io/a=b',
    );
    expect(status).toBe(2);
    expect(stderr).toContain('3 problems with the configuration:');
    expect(stderr).toContain('  --resource-tags: "team" is not a tag. Use key=value\n');
    expect(stderr).toContain(
      '  --resource-tags: the key "kubernetes.io/a" cannot be used: keys of kubernetes.io',
    );
    expect(stderr).toContain(
      'ISTHMUS_NODE_SELECTOR: "@/nowhere/selector.json" is not valid. Use a file that exists',
    );
  });

  test.each([
    ['a missing directory', '/nonexistent/clusters', 'a directory that exists'],
    ['a file', '/etc/hostname', 'a directory, not a file'],
  ])('%s as source is a configuration error', (_what, path, wanted) => {
    expect(isthmus('run', '--source', `file:${path}`)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(wanted),
    });
  });

  test('reports a missing path to a Kubernetes API, and what to do', () => {
    const { status, stdout } = isthmus('run', '--log-format', 'json', '--listen', '127.0.0.1:0');
    expect(status).toBe(1);
    expect(stdout).toContain('found no credentials for a Kubernetes API');
    expect(stdout).toContain('--source file:<directory>');
    expect(stdout).not.toContain('stack');
  });

  test('names a busy port, and what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    writeFileSync(join(directory, 'none.yaml'), '');
    const { status, stdout } = isthmus(
      'run',
      '--source',
      `file:${directory}`,
      '--listen',
      `127.0.0.1:${port}`,
      '--admin',
      '127.0.0.1:0',
      '--log-format',
      'json',
    );
    server.close();
    expect(status).toBe(1);
    const last = JSON.parse(stdout.trim().split('\n').at(-1) as string) as { level: string; msg: string };
    expect(last.level).toBe('fatal');
    expect(last.msg).toMatch(
      new RegExp(
        `^--listen 127\\.0\\.0\\.1:${port} is in use by process ${process.pid} \\(.*\\): stop it, or choose another --listen$`,
      ),
    );
  });

  test('status reports that no proxy runs and exits with 1', () => {
    expect(isthmus('status', '--admin', '127.0.0.1:1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no proxy answers at 127.0.0.1:1 (connect ECONNREFUSED'),
    });
    expect(isthmus('status', '--admn', 'x').status).toBe(2);
  });

  test('explain reports a missing proxy or a missing name', () => {
    expect(isthmus('explain', 'alpha', '--admin', '127.0.0.1:1')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('answers at 127.0.0.1:1 (connect ECONNREFUSED'),
    });
    expect(isthmus('explain')).toMatchObject({
      status: 2,
      stderr: 'isthmus explain takes the name of a cluster, --admin <addr:port> and --json\n',
    });
    expect(isthmus('explain', 'alpha', '--admin', 'x').stderr).toContain('--admin: "x" is not valid');
  });

  test('doctor accepts the flags of run and lists mistakes in them as run does', () => {
    const { status, stdout } = isthmus('doctor', '--json', '--helth', 'tls');
    expect(status).toBe(2);
    const { checks } = JSON.parse(stdout) as { checks: { check: string; result: string; found: string }[] };
    expect(checks[0]).toMatchObject({
      check: 'configuration',
      result: 'problem',
      found: '--helth: this flag does not exist; did you mean --health?',
    });
    expect(checks.find(({ check }) => check === 'node')?.result).toBe('ok');
  });

  test('demo explains how to start the demo from a clone', () => {
    const explained = { status: 2, stdout: '', stderr: expect.stringMatching(/git clone .*npm run demo/s) };
    expect(isthmus('demo')).toMatchObject(explained);
    expect(isthmus('demo', '--once')).toMatchObject(explained);
  });
});
