// Measures how much heap a program's control thread uses after a garbage collection. SIGUSR1 opens Node's inspector on loopback, so
// the program needs no extra code and runs unchanged until the signal.
const INSPECTOR = 'http://127.0.0.1:9229/json/list';
const PATIENCE_MS = 10_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly sessionId?: string; readonly message?: string };
  readonly result?: { readonly usedSize?: number };
}

export async function controlHeapMb(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerUrl());
  try {
    return await within(usedAfterCollection(socket));
  } finally {
    socket.close();
  }
}

async function debuggerUrl(): Promise<string> {
  for (let i = 0; i < 100; i += 1) {
    try {
      const [target] = (await (await fetch(INSPECTOR)).json()) as { webSocketDebuggerUrl: string }[];
      if (target !== undefined) return target.webSocketDebuggerUrl;
    } catch {
      // the inspector is not open yet
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the inspector did not open');
}

/** The program has one worker, the control thread. The inspector reaches it through the main thread. */
function usedAfterCollection(socket: WebSocket): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const send = (id: number, method: string, params: object = {}) =>
    socket.send(JSON.stringify({ id, method, params }));
  socket.addEventListener('error', () => reject(new Error('the inspector hung up')));
  socket.addEventListener('open', () => send(1, 'NodeWorker.enable', { waitForDebuggerOnStart: false }));
  socket.addEventListener('message', ({ data }) => {
    const { method, params } = JSON.parse(String(data)) as Message;
    const sessionId = params?.sessionId;
    const ask = (id: number, question: string) =>
      send(10 + id, 'NodeWorker.sendMessageToWorker', {
        sessionId,
        message: JSON.stringify({ id, method: question }),
      });
    if (method === 'NodeWorker.attachedToWorker') ask(1, 'HeapProfiler.collectGarbage');
    if (method !== 'NodeWorker.receivedMessageFromWorker') return;
    const answer = JSON.parse(params?.message ?? '{}') as Message;
    // Two collections: the second one frees the objects that finalisers released in the first.
    if (answer.id === 1) ask(2, 'HeapProfiler.collectGarbage');
    if (answer.id === 2) ask(3, 'Runtime.getHeapUsage');
    if (answer.id === 3) resolve((answer.result?.usedSize ?? Number.NaN) / 1e6);
  });
  return promise;
}

async function within(answer: Promise<number>): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the inspector did not answer')), PATIENCE_MS);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
