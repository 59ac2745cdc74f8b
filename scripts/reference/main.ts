// Writes the generated pages of docs/reference: `npm run docs`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages } from './pages.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

for (const { path, text } of referencePages()) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  console.log(path);
}
