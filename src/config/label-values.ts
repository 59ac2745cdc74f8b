// Reads configuration values that are about labels. Several things can be wrong with one: each is named. None of them throws.
import { readTags, type Tags } from '../control/resource-tags.ts';
import type { PartsReader } from './values.ts';

export const resourceTags: PartsReader<Tags> = (text) => {
  const read = readTags(text);
  return read.kind === 'tags' ? { value: read.tags } : { problems: read.problems };
};
