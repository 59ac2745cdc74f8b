// Which files of the end-to-end suite run, and in which order: what takes longest begins first.
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/end-to-end.mjs', import.meta.url));
const { chosenFiles } = (await import(script)) as {
  chosenFiles: (all: string[], words: string[]) => string[];
};
const ALL = ['at-rest', 'kube-api', 'kubeconfig', 'life', 'recovery'];

it.each([
  ['all of them without a word', [], ['recovery', 'at-rest', 'kube-api', 'kubeconfig', 'life']],
  ['those that a word is part of', ['kube'], ['kube-api', 'kubeconfig']],
  ['those of any word', ['life', 'rest'], ['at-rest', 'life']],
])('%s', (_title, words, expected) => {
  expect(chosenFiles([...ALL], words)).toEqual(expected);
});

it('a word that fits none is an error that names them all', () => {
  expect(() => chosenFiles([...ALL], ['nothing'])).toThrow(
    /no file is called nothing[\s\S]*at-rest, kube-api/,
  );
});
