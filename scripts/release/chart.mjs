// The Helm chart as one archive, as `helm install` and `helm push` take it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { CHART } from '../manifests.mjs';

function run(helm, ...args) {
  try {
    return execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(`helm ${args[0]}: ${String(error.stderr ?? '').trim() || error.message}`);
  }
}

/** The path of the archive in `directory`, once Helm has rendered it. */
export function packChart({ helm, directory, name, version }) {
  const workshop = mkdtempSync(join(tmpdir(), 'isthmus-chart-'));
  try {
    run(helm, 'package', CHART, '--destination', workshop);
    const made = readdirSync(workshop).map((file) => join(workshop, file));
    if (made.length !== 1) throw new Error(`helm package made ${made.map(basename).join(', ') || 'nothing'}`);
    run(helm, 'template', name, made[0], '--namespace=magnum-system');
    // Helm gives it the very name that npm gives its package.
    const file = join(directory, `${name}-${version}-chart.tgz`);
    cpSync(made[0], file);
    return file;
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}
