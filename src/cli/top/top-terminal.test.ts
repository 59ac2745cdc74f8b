import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { TopTerminal } from './top-terminal.ts';

class Input extends EventEmitter {
  readonly modes: boolean[] = [];
  setRawMode(on: boolean): this {
    this.modes.push(on);
    return this;
  }
  resume(): this {
    return this;
  }
  pause(): this {
    return this;
  }
}

class Output extends EventEmitter {
  columns = 100;
  rows = 30;
  writableNeedDrain = false;
  written = '';
  write(text: string): boolean {
    this.written += text;
    return true;
  }
}

function opened(colours = true) {
  const input = new Input();
  const output = new Output();
  const heard: string[] = [];
  const terminal = new TopTerminal({
    input: input as never,
    output: output as never,
    colours,
    onKey: (key) => heard.push(key),
    onResize: () => heard.push('resize'),
    onGone: () => heard.push('gone'),
  });
  terminal.open();
  return { input, output, heard, terminal };
}

const LINES = [
  [
    { text: 'a', tone: 'strong' as const },
    { text: 'b', tone: 'plain' as const },
  ],
  [],
];

test('the terminal is restored once', () => {
  const { input, output, terminal } = opened();
  expect(output.written).toBe('\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J');
  output.written = '';
  terminal.close();
  terminal.close();
  expect(output.written).toBe('\x1b[?7h\x1b[?25h\x1b[?1049l');
  expect(input.modes).toEqual([true, false]);
});

test('the terminal is restored at process exit too, and the exit listener is then removed', () => {
  const before = process.listenerCount('exit');
  const { output, terminal } = opened();
  expect(process.listenerCount('exit')).toBe(before + 1);
  (process.listeners('exit').at(-1) as () => void)();
  expect(output.written).toContain('\x1b[?1049l');
  terminal.close();
  expect(process.listenerCount('exit')).toBe(before);
});

describe('drawing', () => {
  test('overwrites the previous frame and clears the rest', () => {
    const { output, terminal } = opened();
    output.written = '';
    terminal.draw(LINES);
    expect(output.written).toBe('\x1b[H\x1b[1ma\x1b[0mb\x1b[K\r\n\x1b[K\x1b[J');
  });

  test('has no colours if they are disabled', () => {
    const { output, terminal } = opened(false);
    output.written = '';
    terminal.draw(LINES);
    expect(output.written).toBe('\x1b[Hab\x1b[K\r\n\x1b[K\x1b[J');
  });

  test('is skipped while the terminal is too slow, and after close', () => {
    const { output, terminal } = opened();
    output.written = '';
    output.writableNeedDrain = true;
    terminal.draw(LINES);
    expect(output.written).toBe('');
    output.writableNeedDrain = false;
    terminal.close();
    output.written = '';
    terminal.draw(LINES);
    expect(output.written).toBe('');
  });
});

test('keys are delivered one by one, and escape sequences are ignored', () => {
  const { input, heard } = opened();
  input.emit('data', Buffer.from('rb'));
  input.emit('data', Buffer.from('\x1b[B'));
  input.emit('data', Buffer.from('\x1b[Bn'));
  input.emit('data', Buffer.from('\x03'));
  expect(heard).toEqual(['r', 'b', 'n', '\x03']);
});

test('a change of size is reported, and a terminal without a size counts as 80 by 24', () => {
  const { output, heard, terminal } = opened();
  output.emit('resize');
  expect(heard).toEqual(['resize']);
  expect(terminal.size).toEqual({ columns: 100, rows: 30 });
  Object.assign(output, { columns: 0, rows: undefined });
  expect(terminal.size).toEqual({ columns: 80, rows: 24 });
});

test.each([
  ['input', 'end'],
  ['input', 'error'],
  ['output', 'error'],
] as const)('%s: %s means that the terminal is closed', (which, event) => {
  const { input, output, heard } = opened();
  ({ input, output })[which].emit(event, new Error('EIO'));
  expect(heard).toEqual(['gone']);
});

test('the terminal draws without an input too', () => {
  const output = new Output();
  const ignore = () => {};
  const terminal = new TopTerminal({
    ...{ input: null, output: output as never, colours: false },
    ...{ onKey: ignore, onResize: ignore, onGone: ignore },
  });
  terminal.open();
  terminal.draw(LINES);
  terminal.close();
  expect(output.written).toContain('ab');
});
