// Reads configuration values about labels. A reader lists every problem of a value and never throws.

import { readTags, type Tags } from '../../control/objects/resource-tags.ts';
import { labelKeyProblem } from '../../kube/labels/label-syntax.ts';
import { type NodeSelector, parseNodeSelector } from '../../kube/labels/node-selector.ts';
import type { PartsReader } from './values.ts';

export const resourceTags: PartsReader<Tags> = (text) => {
  const read = readTags(text);
  return read.kind === 'tags' ? { value: read.tags } : { problems: read.problems };
};

/** The `matchExpressions` of a node selector; null: every node. */
export const nodeSelector: PartsReader<NodeSelector | null> = (text) => {
  // A template can leave the variable empty.
  if (text.trim() === '') return { value: null };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const example = `[{"key":"zone","operator":"In","values":["a"]}]`;
    return { problems: [`this is not JSON (${(error as Error).message}). Use a list such as ${example}`] };
  }
  const parsed = parseNodeSelector(json, 'the selector');
  if (parsed.kind === 'invalid') return { problems: parsed.problems };
  return { value: parsed.kind === 'every-node' ? null : parsed.selector };
};

/** Label keys, separated by commas. */
export const labelKeys: PartsReader<readonly string[]> = (text) => {
  const keys = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  const problems = keys.flatMap((key, index) => {
    if (keys.indexOf(key) < index) return [`the key ${JSON.stringify(key)} is given twice`];
    const problem = labelKeyProblem(key);
    return problem === null ? [] : [`the key ${JSON.stringify(key)} cannot be used: ${problem}`];
  });
  return problems.length > 0 ? { problems } : { value: keys };
};
