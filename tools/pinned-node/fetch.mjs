// Puts the pinned Node of another machine into node_modules, for an image that is built across: npm installs only the one that
// fits its own. The archive must be the one that package-lock.json knows.   node tools/pinned-node/fetch.mjs [amd64|arm64]
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const names = { amd64: 'x64', arm64: 'arm64', '': process.arch };
const cpu = names[process.argv[2] ?? ''];
if (cpu === undefined) throw new Error(`no pinned Node for ${process.argv[2]}: amd64 and arm64 are known`);

const name = `node-linux-${cpu}`;
const home = join(root, 'node_modules', name);
if (!existsSync(join(home, 'bin', 'node'))) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { version, integrity } = packages[`node_modules/${name}`];
  const directory = mkdtempSync(join(tmpdir(), 'pinned-node-'));
  try {
    const pack = ['pack', '--silent', '--pack-destination', directory, `${name}@${version}`];
    const archive = join(directory, execFileSync('npm', pack, { encoding: 'utf8' }).trim());
    const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (found !== integrity)
      throw new Error(`${name} ${version} is ${found}, package-lock.json has ${integrity}`);
    mkdirSync(home, { recursive: true });
    execFileSync('tar', ['-xzf', archive, '-C', home, '--strip-components=1', '--no-same-owner']);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
