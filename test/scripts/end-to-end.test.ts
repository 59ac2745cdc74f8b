// Selects the files of the end-to-end suite and their order: the slowest file starts first.
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/test/end-to-end.mjs', import.meta.url));
const { chosenFiles } = (await import(script)) as {
  chosenFiles: (all: string[], words: string[]) => string[];
};
const ALL = ['at-rest', 'kube-api', 'kubeconfig', 'life', 'recovery'];

test.each([
  ['without an argument all files run', [], ['recovery', 'at-rest', 'kube-api', 'kubeconfig', 'life']],
  ['files whose name contains the argument run', ['kube'], ['kube-api', 'kubeconfig']],
  ['files that match any of several arguments run', ['life', 'rest'], ['at-rest', 'life']],
])('%s', (_title, words, expected) => {
  expect(chosenFiles([...ALL], words)).toEqual(expected);
});

test('an argument without a match is an error that lists all files', () => {
  expect(() => chosenFiles([...ALL], ['nothing'])).toThrow(
    /no file is called nothing[\s\S]*at-rest, kube-api/,
  );
});
