// A test that only the long form runs: `npm run test:node` without --short.
import { test } from 'vitest';

export const long = test.skipIf(process.env.ISTHMUS_NODE_SHORT !== undefined);
