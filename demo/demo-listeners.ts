// The part of the story about additional listeners: they reach machines other than the API server. A new generation of machines
// takes over while clients connect. Each sentence with a tick is checked before it is printed.
import { connect } from 'node:net';
import { NAMESPACE } from './demo-management.ts';
import { seconds } from './demo-narrator.ts';
import { type DemoProxy, PROXY_PORT } from './demo-proxy.ts';
import type { DemoParts } from './demo-story.ts';
import { type DemoMachine, NODE_ADDRESS } from './demo-world.ts';

const LISTENER = 'web';
const SERVICE = `alpha-${LISTENER}`;
const PORT = 80;
const TARGET_PORT = 8080;
const TIMEOUT_MS = 5000;
const CLIENTS = 4;
/** Connections before the change, and again after it. */
const SOME = 40;

const machine = (name: string, address: string, generation: string): DemoMachine => ({
  ...{ name, address, port: TARGET_PORT },
  labels: { app: 'web', generation },
});
const BLUE = [machine('blue-1', '10.0.0.11', 'blue'), machine('blue-2', '10.0.0.12', 'blue')] as const;
const GREEN = machine('green-1', '10.0.0.13', 'green');

interface Place {
  readonly address: string;
  readonly port: number;
}

export class ListenerStory {
  readonly #parts: DemoParts;
  readonly #proxy: DemoProxy;

  constructor(parts: DemoParts, proxy: DemoProxy) {
    this.#parts = parts;
    this.#proxy = proxy;
  }

  async twoMachines(): Promise<void> {
    const { narrator, world, management, clusters } = this.#parts;
    narrator.step(
      "A way to two of alpha's machines, beside its API server",
      `An AdditionalListener selects machines by label: here app=web, port ${PORT}. It gets a Service, and its own port`,
      'on every network node. A client goes to the machine with the fewest connections. If that fails, it goes to the next.',
    );
    for (const each of BLUE) {
      await world.startMachine(clusters.alpha, each);
      management.addMachine('alpha', each);
    }
    const sinceMs = performance.now();
    management.addListener(LISTENER, {
      clusterName: 'alpha',
      port: PORT,
      targetPort: TARGET_PORT,
      selector: { matchLabels: { app: 'web' } },
      rolloutLabels: { generation: 'blue' },
    });
    const isComplete = async () =>
      management.isReady(SERVICE) && (await this.#counts()).ready === BLUE.length;
    const ms = await narrator.until('the listener is published, with both machines', isComplete, sinceMs);
    const to = await this.#resolve();
    narrator.check(
      to.address === NODE_ADDRESS && to.port !== PROXY_PORT,
      `Service ${SERVICE}, EndpointSlice → ${to.address}:${to.port} (ready), after ${seconds(ms)}`,
    );
    const names = await this.#visits(to, 4);
    narrator.check(
      names.join() === 'blue-1,blue-1,blue-2,blue-2',
      `four connections to ${SERVICE}.${NAMESPACE}:${PORT}: two for each machine`,
    );
    await world.killMachine(BLUE[1]);
    const alone = await this.#visits(to, 4);
    narrator.check(
      alone.every((name) => name === 'blue-1'),
      'blue-2 is killed, and four more clients connect: blue-1 serves all of them, and none fails',
    );
    await world.startMachine(clusters.alpha, BLUE[1]);
    await narrator.until('blue-2 is ready again', async () => (await this.#counts()).ready === BLUE.length);
  }

  async blueGreen(): Promise<void> {
    const { narrator, world, management, clusters } = this.#parts;
    narrator.step(
      'Blue to green, while clients connect',
      'green-1 is the next generation. The operator named the label in --ignored-selector-labels. So Isthmus checks',
      'green-1 in advance, and sends it no client until the listener says generation=green.',
    );
    await world.startMachine(clusters.alpha, GREEN);
    management.addMachine('alpha', GREEN);
    await narrator.until('green-1 is known and checked', async () =>
      ((await this.#listener())?.members ?? []).some(
        ({ machine: name, state, up }) => name === GREEN.name && state === 'Ignored' && up,
      ),
    );
    const { ready, ignored } = await this.#counts();
    narrator.check(
      ready === BLUE.length && ignored === 1,
      'two machines are Ready, and green-1 is Ignored: its health is known and does not count',
    );
    const to = await this.#resolve();
    const answers: string[] = [];
    let isOver = false;
    const load = Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (!isOver) answers.push(await visit(to));
      }),
    );
    try {
      await narrator.until('clients come', () => answers.length > SOME);
      const sinceMs = performance.now();
      const before = answers.length;
      management.patchListener(LISTENER, { rolloutLabels: { generation: 'green' } });
      const first = await narrator.until(
        'green-1 gets a new connection',
        () => answers.slice(before).includes(GREEN.name),
        sinceMs,
      );
      const count = answers.length + SOME;
      await narrator.until('more clients have connected', () => answers.length > count);
      isOver = true;
      await load;
      const known = new Set([...BLUE, GREEN].map(({ name }) => name));
      narrator.check(
        answers.every((name) => known.has(name)),
        `promoted: ${answers.length} connections meanwhile, none failed, the first on green-1 after ${seconds(first)}`,
      );
    } finally {
      isOver = true;
    }
    const after = await this.#visits(to, 3);
    narrator.check(
      after.every((name) => name === GREEN.name) && (await this.#counts()).ignored === BLUE.length,
      'now all clients go to green-1, and the blue machines are Ignored: the switch back is as fast',
    );
  }

  async #listener() {
    return (await this.#proxy.status()).listeners.find(({ name }) => name === LISTENER);
  }

  async #counts(): Promise<{ readonly ready: number; readonly ignored: number }> {
    return (await this.#listener())?.counts ?? { ready: 0, ignored: 0 };
  }

  async #resolve(): Promise<Place> {
    const to = await this.#parts.client.resolve(`tcp://${SERVICE}.${NAMESPACE}:${PORT}`);
    if (to.kind === 'none') throw new Error(to.reason);
    return to;
  }

  async #visits(to: Place, count: number): Promise<string[]> {
    const names: string[] = [];
    for (let i = 0; i < count; i += 1) names.push(await visit(to));
    return names.sort();
  }
}

/** The name of the machine that answers, or the error code. */
function visit({ address: host, port }: Place): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.once('timeout', () =>
      socket.destroy(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' })),
    );
    socket.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    socket.once('close', () => resolve(text.trim() || 'closed without data'));
  });
}
