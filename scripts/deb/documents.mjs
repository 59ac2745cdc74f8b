// The pages and examples that the package contains, with the paths of the repository: links between the pages, and to the examples, stay
// valid. The sources of the program are not in the package, so a link to them becomes their path.
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const DOCUMENTS = [
  'docs',
  'deploy/ansible',
  'deploy/crds',
  'deploy/examples',
  'deploy/helm',
  'deploy/manifests',
  'deploy/seccomp',
  'deploy/systemd',
];
/** What only a clone has, and what only a contributor reads. A link to another missing file stays, and `npm run test:deb` fails. */
const IN_A_CLONE = /^(src|native|scripts|test|bench|demo)\/|^(CONTRIBUTING|SECURITY)\.md$/;
/** `[text](target#place)`, with a relative target. */
const LINK = /\[([^\]]+)\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)/g;

/** The text of a page that names files of a clone where it linked to them. `page` is its path in the repository. */
function withoutCloneLinks(text, page) {
  return text.replace(LINK, (link, shown, target) => {
    const path = join(dirname(page), target);
    if (!IN_A_CLONE.test(path)) return link;
    return shown === path ? shown : `${shown}: \`${path}\``;
  });
}

/** Copies the documents of the clone `from` into the directory `to`. */
export function stageDocuments(from, to) {
  for (const each of DOCUMENTS) cpSync(join(from, each), join(to, each), { recursive: true });
  for (const entry of readdirSync(to, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.md')) continue;
    const file = join(entry.parentPath, entry.name);
    writeFileSync(file, withoutCloneLinks(readFileSync(file, 'utf8'), relative(to, file)));
  }
}
