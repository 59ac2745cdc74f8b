// Loaded before each file of the suite: the message of a failed test ends with the last lines of the relevant logs.
import { afterEach } from 'vitest';
import { LOGS, lastLogLines } from './component.ts';

afterEach(({ task }) => {
  const [error] = task.result?.state === 'fail' ? (task.result.errors ?? []) : [];
  if (error === undefined || error.message.includes('the last lines of ')) return;
  error.message += `\n${lastLogLines()}\nThe logs of all components: ${LOGS}`;
});
