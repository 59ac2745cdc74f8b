// The program's complete main thread with a stand-in for its control thread: the test sets the desired state and reads the replies.
import { randomUUID } from 'node:crypto';
import { BroadcastChannel } from 'node:worker_threads';
import { pino } from 'pino';
import { App } from '../../src/app.ts';
import { readConfig } from '../../src/cli/config/config.ts';
import type { TurnResult } from '../../src/control/turn-result.ts';
import { NOTHING_DESIRED } from '../../src/control-thread/control-changes.ts';
import { ControlLink } from '../../src/control-thread/control-link.ts';
import type { ToControl } from '../../src/control-thread/control-messages.ts';
import { ControlOutbox } from '../../src/control-thread/control-outbox.ts';
import type { PortOutcome } from '../../src/routing/route-table.ts';
import type { StatusView } from '../../src/telemetry/status/status.ts';
import type { LoggedLine } from './isthmus.ts';
import { until } from './tcp.ts';

const scriptOf = (channel: string) => `
  import { BroadcastChannel, parentPort } from 'node:worker_threads';
  const test = new BroadcastChannel('${channel}');
  const say = (message) => parentPort.postMessage(message);
  test.onmessage = ({ data }) => say(data);
  const answers = {
    start: () => { say({ kind: 'started' }); say({ kind: 'settled' }); say({ kind: 'readiness', checks: [] }); },
    beat: () => say({ kind: 'beat', turnsMs: [], kubernetes: null }),
    'ask-health': () => say({ kind: 'health', health: new Map(), kubernetes: null }),
    'dials-failed': () => say({ kind: 'dials-noted' }),
    ports: () => say({ kind: 'ports-noted' }),
    withdraw: () => say({ kind: 'withdrawn' }),
    stop: () => { test.close(); parentPort.close(); },
  };
  parentPort.on('message', (message) => {
    if (message.kind !== 'stop') test.postMessage(message);
    answers[message.kind]?.();
  });
`;

export class StandInControl {
  readonly log: LoggedLine[] = [];
  /** Every received message, in order. */
  readonly outcomes: Record<string, PortOutcome>[] = [];
  readonly failedDials: string[] = [];
  readonly app: App;
  readonly #channel: BroadcastChannel;
  readonly #outbox: ControlOutbox;
  #desired: TurnResult = NOTHING_DESIRED;

  constructor(...flags: readonly string[]) {
    const args = ['--source=file:/tmp', '--listen=127.0.0.1:0', '--admin=127.0.0.1:0', ...flags];
    const read = readConfig(args, {});
    if ('problems' in read) throw new Error(JSON.stringify(read.problems));
    const { config } = read;
    const name = randomUUID();
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = (event: unknown) => this.#heard((event as { data: ToControl }).data);
    this.#outbox = new ControlOutbox((changes) => this.#channel.postMessage({ kind: 'published', changes }));
    const logger = pino(
      { level: 'debug', base: null, formatters: { level: (level) => ({ level }) } },
      { write: (line: string) => void this.log.push(JSON.parse(line) as LoggedLine) },
    );
    const control = new ControlLink({
      config,
      log: (level, facts, message) => logger[level](facts as object, message),
      script: new URL(`data:text/javascript,${encodeURIComponent(scriptOf(name))}`),
    });
    this.app = new App({ config, logger, version: 'test', control });
  }

  get port(): number {
    return this.#portIn('listen');
  }

  /** Sets the desired state; fields that are not given stay unchanged. */
  publish(parts: Partial<TurnResult>): void {
    this.#desired = { ...this.#desired, ...parts };
    this.#outbox.put(this.#desired);
  }

  /** All outcomes, after these are open. */
  async opened(...names: readonly string[]): Promise<Record<string, number>> {
    const portOf = (name: string) => {
      const outcome = this.outcomes.at(-1)?.[name];
      return outcome?.kind === 'open' ? outcome.port : null;
    };
    await until(`${names} are open`, () => names.every((name) => portOf(name) !== null));
    return Object.fromEntries(names.map((name) => [name, portOf(name) as number]));
  }

  async get(path: string): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#portIn('admin')}${path}`)).text();
  }

  async status(): Promise<StatusView> {
    return JSON.parse(await this.get('/status')) as StatusView;
  }

  async stop(): Promise<void> {
    await this.app.close();
    this.#channel.close();
  }

  #heard(message: ToControl): void {
    if (message.kind === 'taken') this.#outbox.taken();
    if (message.kind === 'ports') this.outcomes.push(Object.fromEntries(message.ports));
    if (message.kind === 'dials-failed') this.failedDials.push(...message.backends);
  }

  #portIn(field: 'listen' | 'admin'): number {
    const serving = this.log.find(({ msg }) => msg === 'serving');
    return Number(String(serving?.[field]).split(':').at(-1));
  }
}
