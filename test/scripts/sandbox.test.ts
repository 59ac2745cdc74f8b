// The sandbox of tests and demo: it forwards exit codes and signals, and no process survives it.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { until, WAIT_MS, within } from '../support/tcp.ts';

const scripts = fileURLToPath(new URL('../../scripts/', import.meta.url));
const WRAPPER = `
import { runInSandbox } from ${JSON.stringify(`${scripts}sandbox/sandbox.mjs`)};
process.exitCode = await runInSandbox('sh', ['-c', process.argv[1]], { cwd: '/', env: process.env });
`;

function sandbox(script: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', WRAPPER, script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function lines(child: ChildProcess, count: number): Promise<string[]> {
  const found: string[] = [];
  if (child.stdout === null) throw new Error('no output to read');
  createInterface({ input: child.stdout }).on('line', (line) => found.push(line));
  await until(`${count} lines`, () => found.length >= count);
  return found;
}

/** Processes on this machine whose command line contains the marker. */
function alive(marker: string): number {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(marker);
    } catch {
      return false; // the process ended in the meantime
    }
  }).length;
}

describe('the sandbox', () => {
  test('returns the exit code of its command', async () => {
    const [code] = await within(WAIT_MS, 'the end', once(sandbox('exit 7'), 'exit'));
    expect(code).toBe(7);
  });

  test('has its own network, /run and temporary files, and its loopback device is up', async () => {
    const child = sandbox(
      'ip netns add inside; ls /run/netns; echo $TMPDIR; ip -br link show lo; ip -br link | wc -l',
    );
    const [netns, tmp, lo, links] = await lines(child, 4);
    expect([netns, tmp]).toEqual(['inside', '/run/tmp']);
    expect(lo).toContain('LOOPBACK,UP');
    expect(Number(links)).toBeLessThanOrEqual(3); // lo, and tunnel devices that some kernels add to every netns
    await once(child, 'exit');
    expect(existsSync('/run/netns/inside')).toBe(false);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('forwards %s to the command exactly once', async (signal) => {
    // Not a shell script: a shell cannot trap a signal that was ignored at its start, as in background jobs.
    const script = `process.on('${signal}', () => { console.log('got ${signal}'); setTimeout(() => process.exit(3), 500) }); setTimeout(() => {}, 150000); console.log('ready')`;
    const child = sandbox(`exec ${process.execPath} -e "${script}"`);
    let said = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await until('it is ready', () => said === 'ready\n');
    child.kill(signal);
    const [code] = await within(WAIT_MS, 'the end', once(child, 'close'));
    expect(said).toBe(`ready\ngot ${signal}\n`);
    expect(code).toBe(3);
  });

  test('ends all of its processes when it is killed with -9', async () => {
    const marker = `marker-${process.pid}`;
    const child = sandbox(
      `sh -c 'sleep 1000; echo ${marker}' & sh -c 'trap "" TERM INT; sleep 1000; echo ${marker}' & echo ready; wait`,
    );
    await lines(child, 1);
    expect(alive(marker)).toBeGreaterThanOrEqual(2);
    child.kill('SIGKILL');
    await until('all of it is gone', () => alive(marker) === 0);
  });
});

describe('the check for missing tools', () => {
  const check = (path: string, tools: string) =>
    spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { requireTools } from ${JSON.stringify(`${scripts}setup/problems.mjs`)};
         try { requireTools(${tools}) } catch (error) { console.log(error.message); process.exit(1) }`,
      ],
      { encoding: 'utf8', env: { PATH: path } },
    );

  test('names all missing tools at once, each with the way to install it', () => {
    const { status, stdout } = check('/nonexistent', "['ip', 'c++', 'make', 'python3', 'unshare']");
    expect(status).toBe(1);
    const problems = stdout.split('\n').filter((line) => line.includes('✗'));
    expect(problems).toHaveLength(5);
    expect(stdout.match(/→ install it: /g)).toHaveLength(5);
    expect(stdout).toContain('`ip` (iproute2) is not on the PATH');
    expect(stdout).toContain('no C++ compiler');
  });

  test('reports nothing if all tools are present', () => {
    const path = `${process.env.PATH}:/usr/sbin:/sbin`;
    expect(check(path, "['ip', 'unshare', 'mount']")).toMatchObject({ status: 0, stdout: '' });
  });

  test('also runs in the npm scripts, which then exit non-zero', () => {
    // An environment without `ip` and without a compiler.
    const node = execFileSync('which', ['node'], { encoding: 'utf8' }).trim();
    const { status, stderr } = spawnSync(node, [`${scripts}task.mjs`, 'demo', '--once'], {
      encoding: 'utf8',
      env: { PATH: '/nonexistent' },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('npm run demo cannot start on this machine:');
    expect(stderr).toContain('iproute2');
  });

  test('an unknown task is answered with the list of tasks', () => {
    const { status, stderr } = spawnSync(process.execPath, [`${scripts}task.mjs`, 'tset'], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain("There is no task 'tset'");
    expect(stderr).toContain('npm run test');
  });
});
