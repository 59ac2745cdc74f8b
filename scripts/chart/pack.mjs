// Packs the Helm chart into one archive for `helm install` and `helm push`.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { CHART } from './manifests.mjs';

function run(helm, ...args) {
  try {
    return execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(`helm ${args[0]}: ${String(error.stderr ?? '').trim() || error.message}`);
  }
}

/** Packs the chart, lets Helm render it as a check, and returns the path of the archive in `directory`. */
export function packChart({ helm, directory, name, version }) {
  const workshop = mkdtempSync(join(tmpdir(), 'isthmus-chart-'));
  try {
    run(helm, 'package', CHART, '--destination', workshop);
    const made = readdirSync(workshop).map((file) => join(workshop, file));
    if (made.length !== 1) throw new Error(`helm package made ${made.map(basename).join(', ') || 'nothing'}`);
    run(helm, 'template', name, made[0], '--namespace=magnum-system');
    // Helm's own file name is the same as that of the npm package.
    const file = join(directory, `${name}-${version}-chart.tgz`);
    cpSync(made[0], file);
    return file;
  } finally {
    rmSync(workshop, { recursive: true, force: true });
  }
}
