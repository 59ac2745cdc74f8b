// Builds the addon into prebuilds/ for every machine and C library of a release. A flavour that this machine cannot build is skipped
// and reported; on such a machine, the package compiles the addon during installation.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flavourNames, toolchain } from '../addon/addon-flavours.mjs';
import { pythonPackage } from '../fetch/downloader.mjs';
import { childEnvironment, pinnedNode, root } from '../setup/setup.mjs';
import { runStep } from '../setup/step.mjs';

/** Zig compiles for every machine and C library of a release. Debian has no package for it. */
const ZIG = {
  name: 'ziglang',
  version: '0.17.0',
  hashes: [
    '97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b', // x86_64
    'd2804f94f54f7fcf8169f4b212a619ad688a4e2e6592e976f0cf2e58e2cd8af3', // aarch64
  ],
};

async function zigEnvironment() {
  try {
    return { ISTHMUS_ZIG: join(await pythonPackage(ZIG), 'ziglang', 'zig') };
  } catch (error) {
    process.stderr.write(
      `! without zig (${error.message}): using the compilers of this machine, which may miss some flavours\n`,
    );
    return {};
  }
}

/** Returns `{ built, missing: [{ flavour, why }] }`. */
export async function buildPrebuilds() {
  const zig = await zigEnvironment();
  const env = childEnvironment(zig);
  const [built, missing] = [[], []];
  rmSync(join(root, 'prebuilds'), { recursive: true, force: true });
  for (const flavour of flavourNames) {
    const { missing: why } = toolchain(flavour, env);
    if (why !== undefined) {
      missing.push({ flavour, why });
      continue;
    }
    const args = [join(root, 'scripts', 'addon', 'build-addon.mjs'), '--flavour', flavour];
    await runStep(`compiling the addon for ${flavour}`, pinnedNode, args, { cwd: root, env });
    if (!existsSync(join(root, 'prebuilds', flavour, 'linux_netns.node')))
      throw new Error(`${flavour} was not built`);
    built.push(flavour);
  }
  return { built, missing };
}
