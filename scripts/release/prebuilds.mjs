// The addon for every machine and C library that a release carries, into prebuilds/. One that cannot be built here is left out and said
// so: on such a machine the package compiles it when it is installed.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flavourNames, toolchain } from '../addon-flavours.mjs';
import { childEnvironment, pinnedNode, root } from '../setup.mjs';
import { runStep } from '../step.mjs';
import { ensureZig } from './zig.mjs';

async function zigEnvironment() {
  try {
    return { ISTHMUS_ZIG: await ensureZig() };
  } catch (error) {
    process.stderr.write(
      `! without zig (${error.message}): with the compilers of this machine, as far as they go\n`,
    );
    return {};
  }
}

/** `{ built, missing: [{ flavour, why }] }` */
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
    const args = [join(root, 'scripts', 'build-addon.mjs'), '--flavour', flavour];
    await runStep(`compiling the addon for ${flavour}`, pinnedNode, args, { cwd: root, env });
    if (!existsSync(join(root, 'prebuilds', flavour, 'linux_netns.node')))
      throw new Error(`${flavour} was not built`);
    built.push(flavour);
  }
  return { built, missing };
}
