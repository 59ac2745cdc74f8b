// `npm run demo` from the user's point of view: the story is true, and the suggested commands work outside its sandbox.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:https';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { until, within } from '../support/tcp.ts';

const task = fileURLToPath(new URL('../../scripts/task.mjs', import.meta.url));
/** An upper bound for a busy machine; the story normally takes about ten seconds. */
const STORY_MS = 300_000;

class Demo {
  readonly #child: ChildProcess;
  output = '';

  constructor(...args: readonly string[]) {
    this.#child = spawn(process.execPath, [task, 'demo', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ISTHMUS_TEST_ANY_PORT: 'true' },
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
  }

  async says(text: string): Promise<void> {
    const isOver = () => this.output.includes(text) || this.#child.exitCode !== null;
    await until(`the demo says ${text}`, isOver, STORY_MS);
    expect(this.output).toContain(text);
  }

  matched(expression: RegExp): string {
    return expression.exec(this.output)?.[1] ?? '';
  }

  async ended(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      await within(STORY_MS, 'the end', once(this.#child, 'close'));
    return this.#child.exitCode;
  }
}

describe('npm run demo', () => {
  let demo: Demo;
  let kubeconfigFile = '';
  beforeAll(async () => {
    demo = new Demo();
    await demo.says('prints one line:');
    kubeconfigFile = demo.matched(/export KUBECONFIG=(.+)/);
  }, STORY_MS + 10_000);
  afterAll(() => demo.ended('SIGKILL'));

  test('shows every step of its story, and every check passes', () => {
    expect(demo.output).toMatch(/\d+ checks, all passed/);
    expect(demo.output).not.toContain('✗');
  });

  test('writes a kubeconfig that reaches the management API from outside, with its certificate', async () => {
    const { clusters, users } = parse(readFileSync(kubeconfigFile, 'utf8'));
    const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
    const path = '/apis/discovery.k8s.io/v1/namespaces/magnum-system/endpointslices';
    const slices = await new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${users[0].user.token}` };
      get(`${server}${path}`, { ca: Buffer.from(ca, 'base64'), headers, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.once('end', () => resolve(text));
      }).once('error', reject);
    });
    const names = JSON.parse(slices).items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    );
    expect(names.sort()).toEqual(['alpha-net-1', 'alpha-web-net-1', 'beta-net-1', 'gamma-net-1']);
  });

  test('shows status and a cluster with the commands that it prints', () => {
    const shell = (command: string) => execFileSync('sh', ['-c', command], { encoding: 'utf8' });
    const status = demo.matched(/^ {2}(curl -s http:.+)$/m);
    expect(JSON.parse(shell(status))).toMatchObject({ ready: true, problems: [] });
    const version = demo.matched(/^ {2}(curl -sk .+)$/m);
    expect(JSON.parse(shell(version))).toMatchObject({ cluster: 'alpha', user: 'system:anonymous' });
  });

  test('ends cleanly on Ctrl-C and leaves nothing behind', { timeout: STORY_MS }, async () => {
    expect(existsSync(kubeconfigFile)).toBe(true);
    expect(await demo.ended('SIGINT')).toBe(0);
    expect(demo.output).toContain('withdrawn: EndpointSlice magnum-system/alpha-net-1');
    expect(existsSync(kubeconfigFile)).toBe(false);
  });
});
