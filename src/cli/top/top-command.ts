// `isthmus top`: polls the admin port of a running proxy and shows its activity on the terminal until a key or a signal ends it. It
// keeps trying while the proxy does not answer. In a pipe, or with --once or --json, it prints one result over one interval.
import { setTimeout as wait } from 'node:timers/promises';
import type { Environment } from '../../lifecycle/settings-environment.ts';
import type { StatusView } from '../../telemetry/status/status.ts';
import { type AdminArguments, adminArguments } from '../admin-arguments.ts';
import { adminCommand, requestStatus, silenceText } from '../admin-client.ts';
import { duration, type Endpoint, oneOf } from '../config/values.ts';
import { EXIT, type ExitCode, signalExit } from '../exit-codes.ts';
import { TOP_SORTS, type TopSort } from './top-order.ts';
import { plainText, topScreen } from './top-screen.ts';
import { TopTerminal } from './top-terminal.ts';
import { topView } from './top-view.ts';

type TopArguments = AdminArguments<{ readonly interval: number; readonly sort: TopSort }>;
type Asked = Extract<TopArguments, { kind: 'read' }>;

/** The pause before the next request to a proxy that answers slowly. */
const LEAST_PAUSE_MS = 100;

const SORT_KEYS: Readonly<Record<string, TopSort>> = {
  c: 'connections',
  r: 'rate',
  b: 'bytes',
  n: 'name',
  s: 'state',
};
const QUIT_KEYS = ['q', 'Q', '\x03'];

export function topArguments(args: readonly string[], environment: Environment): TopArguments {
  return adminArguments(args, environment, {
    switches: ['once'],
    values: {
      interval: { fallback: '1s', reader: duration(200, 60_000) },
      sort: { fallback: 'connections', reader: oneOf(...TOP_SORTS) },
    },
  });
}

export function showTop(args: readonly string[], environment: Environment): Promise<ExitCode> {
  const usage =
    'isthmus top takes --admin <addr:port>, --interval <duration>, --sort <key>, --once and --json, nothing else';
  return adminCommand(topArguments(args, environment), usage, async (asked) => {
    const { endpoint, json, values, switches } = asked;
    const isLive = process.stdout.isTTY && environment.TERM !== 'dumb' && !switches.has('once') && !json;
    const previous = await request(endpoint);
    if (isLive) return new Live(asked, previous, !environment.NO_COLOR).run();
    await wait(values.interval);
    const status = await request(endpoint);
    process.stdout.write(
      json
        ? `${JSON.stringify(topView(previous, status), null, 2)}\n`
        : plainText(topScreen({ previous, status, size: null, sort: values.sort, trouble: null })),
    );
    return EXIT.ok;
  });
}

/** Also throws if the answer is not a status, or a status without counters. */
async function request(endpoint: Endpoint): Promise<StatusView> {
  const status = await requestStatus(endpoint);
  if (status?.traffic === undefined) throw new Error('the answer is not a status of this version');
  topView(null, status);
  return status;
}

class Live {
  readonly #asked: Asked;
  readonly #terminal: TopTerminal;
  readonly #end = Promise.withResolvers<ExitCode>();
  #previous: StatusView | null = null;
  #status: StatusView;
  #heardMs = performance.now();
  #trouble: string | null = null;
  #sort: TopSort;
  #ended = false;

  constructor(asked: Asked, first: StatusView, colours: boolean) {
    this.#asked = asked;
    this.#status = first;
    this.#sort = asked.values.sort;
    this.#terminal = new TopTerminal({
      input: process.stdin.isTTY ? process.stdin : null,
      output: process.stdout,
      colours,
      onKey: (key) => this.#press(key),
      onResize: () => this.#draw(),
      onGone: () => this.#finish(EXIT.ok),
    });
  }

  async run(): Promise<ExitCode> {
    const stop = (signal: NodeJS.Signals) => this.#finish(signal === 'SIGINT' ? EXIT.ok : signalExit(signal));
    const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, stop);
    this.#terminal.open();
    try {
      this.#draw();
      return await Promise.race([this.#end.promise, this.#follow()]);
    } finally {
      this.#ended = true;
      this.#terminal.close();
      for (const signal of signals) process.off(signal, stop);
    }
  }

  async #follow(): Promise<never> {
    let pauseMs = this.#asked.values.interval;
    for (;;) {
      await wait(pauseMs);
      const askedMs = performance.now();
      await this.#look();
      if (this.#ended) return new Promise(() => {}); // run() has already returned
      this.#draw();
      pauseMs = Math.max(LEAST_PAUSE_MS, this.#asked.values.interval - (performance.now() - askedMs));
    }
  }

  async #look(): Promise<void> {
    const { endpoint } = this.#asked;
    try {
      const status = await request(endpoint);
      this.#previous = this.#status;
      this.#status = status;
      this.#heardMs = performance.now();
      this.#trouble = null;
    } catch (error) {
      const seconds = Math.round((performance.now() - this.#heardMs) / 1000);
      this.#trouble = `${silenceText(endpoint, error)}: trying again; what follows is ${seconds} s old`;
    }
  }

  #press(key: string): void {
    if (QUIT_KEYS.includes(key)) this.#finish(EXIT.ok);
    const sort = Object.hasOwn(SORT_KEYS, key) ? SORT_KEYS[key] : undefined;
    if (sort === undefined) return;
    this.#sort = sort;
    this.#draw();
  }

  #draw(): void {
    const { size } = this.#terminal;
    this.#terminal.draw(
      topScreen({
        previous: this.#previous,
        status: this.#status,
        size,
        sort: this.#sort,
        trouble: this.#trouble,
      }),
    );
  }

  #finish(code: ExitCode): void {
    this.#end.resolve(code);
  }
}
