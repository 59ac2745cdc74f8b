// The image's root filesystem in a container, with a real OCI runtime (crun or runc) and without a daemon.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Launch } from '../support/isthmus.ts';
import type { PodSettings } from './pod-settings.ts';
import { type BindMount, runtimeConfig } from './runtime-config.ts';

export type Runtime = 'crun' | 'runc';

export interface ContainerOptions {
  readonly runtime: Runtime;
  readonly pod: PodSettings;
  readonly seccomp: object | null;
  readonly mounts?: readonly BindMount[];
  /** As in `ContainerPlan`; null by default. */
  readonly netnsPath?: string | null;
  /** Replaces the entry point of the image. */
  readonly entrypoint?: readonly string[];
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The files that scripts/image/test.mjs has built and fetched. */
function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run it with npm run test:image`);
  return value;
}

export const rootfs = given('ISTHMUS_IMAGE_ROOT');
const STATE = '/run/isthmus-containers';
const ENTRYPOINT = ['/usr/local/bin/isthmus'];
let counter = 0;

export class Container {
  readonly bundle = mkdtempSync(join(tmpdir(), 'isthmus-bundle-'));
  readonly id = `isthmus-${process.pid}-${++counter}`;
  readonly #options: ContainerOptions;
  readonly #command: string;

  constructor(options: ContainerOptions) {
    this.#options = options;
    this.#command = given(`ISTHMUS_${options.runtime.toUpperCase()}`);
  }

  /** The command for these arguments of the image's entry point. Each start writes a new bundle. */
  launch(args: readonly string[], env: Readonly<Record<string, string>> = {}): Launch {
    const { pod, seccomp, mounts = [], netnsPath = null, entrypoint = ENTRYPOINT } = this.#options;
    const plan = {
      pod,
      rootfs,
      seccomp,
      mounts,
      netnsPath,
      args: [...entrypoint, ...args],
      env,
    };
    for (const { hostPath } of pod.directories) mkdirSync(hostPath, { recursive: true, mode: 0o755 });
    writeFileSync(join(this.bundle, 'config.json'), JSON.stringify(runtimeConfig(plan), null, 2));
    return {
      command: this.#command,
      args: [...this.#global(), 'run', '--bundle', this.bundle, this.id],
      env: process.env,
    };
  }

  /** Runs the container until it ends. */
  run(...args: readonly string[]): Promise<Answer> {
    const { command, args: all } = this.launch(args);
    return this.#answer(command, all);
  }

  /** Starts another process in the container, as `kubectl exec` does. */
  exec(...command: readonly string[]): Promise<Answer> {
    return this.#answer(this.#command, [...this.#global(), 'exec', this.id, ...command]);
  }

  /** The pid of its first process, in the pid namespace of the test. */
  async pid(): Promise<number> {
    const { stdout } = await this.#answer(this.#command, [...this.#global(), 'state', this.id]);
    return (JSON.parse(stdout) as { pid: number }).pid;
  }

  async remove(): Promise<void> {
    await this.#answer(this.#command, [...this.#global(), 'delete', '--force', this.id]);
    rmSync(this.bundle, { recursive: true, force: true });
  }

  #global(): string[] {
    mkdirSync(STATE, { recursive: true });
    // No limits: they are not tested, and the machine's cgroups do not belong to the test.
    const cgroups = this.#options.runtime === 'crun' ? ['--cgroup-manager', 'disabled'] : [];
    return ['--root', STATE, ...cgroups];
  }

  #answer(command: string, args: readonly string[]): Promise<Answer> {
    return promisify(execFile)(command, args, { timeout: 60_000 }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code?: number | string; stdout?: string; stderr?: string; message: string }) => ({
        code: typeof error.code === 'number' ? error.code : -1,
        stdout: error.stdout ?? '',
        stderr: error.stderr || error.message,
      }),
    );
  }
}
