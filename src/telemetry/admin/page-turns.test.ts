import { expect, test } from 'vitest';
import type { AdminPage } from './admin-server.ts';
import { PageTurns } from './page-turns.ts';

const page = (body: string): AdminPage => ({ status: 200, type: 'text', body });
const textOf = async (made: Promise<AdminPage>) => Buffer.from((await made).body).toString();

test('requests that wait for one page share it, and a request that arrives while it is made gets a new page', async () => {
  const turns = new PageTurns();
  let count = 0;
  const late: Promise<string>[] = [];
  const make = () => {
    count += 1;
    if (count === 1) late.push(textOf(turns.page('a', make)));
    return page(`${count}`);
  };
  const asked = Array.from({ length: 50 }, () => textOf(turns.page('a', make)));
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['1']));
  expect(await Promise.all(late)).toEqual(['2']);
});

test('pages are made one after the other', async () => {
  const turns = new PageTurns();
  const events: string[] = [];
  const make = (name: string) => async () => {
    events.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    events.push(`${name} ends`);
    return page(name);
  };
  await Promise.all(['a', 'b'].map((name) => turns.page(name, make(name))));
  expect(events).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('a page that fails does not affect other pages', async () => {
  const turns = new PageTurns();
  const failing = turns.page('a', () => Promise.reject(new Error('it rejects')));
  const other = turns.page('b', () => page('b'));
  await expect(failing).rejects.toThrow('it rejects');
  expect(await textOf(other)).toBe('b');
});

test('the number of pages that wait is bounded', async () => {
  const turns = new PageTurns();
  const asked = Array.from({ length: 100 }, (_, index) => turns.page(`${index}`, () => page('made')));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
  expect(statuses.filter((status) => status === 503)).toHaveLength(36);
});
