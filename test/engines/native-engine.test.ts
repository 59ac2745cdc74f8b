// Runs every conformance suite on the native engine, with one thread and with three.

import { native } from '../../src/netns/native.ts';
import type { Engine, EngineLimits } from '../../src/proxy/engine.ts';
import { NativeEngine } from '../../src/proxy/native/native-engine.ts';
import { engineConformance } from '../conformance/engine.ts';
import { engineBalanceConformance } from '../conformance/engine-balance.ts';
import { engineInheritedConformance } from '../conformance/engine-inherited.ts';
import { engineNetnsConformance } from '../conformance/engine-netns.ts';
import { enginePreparedConformance } from '../conformance/engine-prepared.ts';
import { enginePressureConformance } from '../conformance/engine-pressure.ts';
import { engineSharesConformance } from '../conformance/engine-shares.ts';

for (const threads of [1, 3]) {
  const create = (limits: EngineLimits) => new NativeEngine(limits, native, threads);
  engineConformance(`native, ${threads} threads`, create);
  engineNetnsConformance(`native, ${threads} threads`, create);
  engineInheritedConformance(`native, ${threads} threads`, create);
  engineSharesConformance(`native, ${threads} threads`, create);
  enginePressureConformance(`native, ${threads} threads`, create, threads === 1);
  engineBalanceConformance(`native, ${threads} threads`, create);
  enginePreparedConformance(`native, ${threads} threads`, create, true);
}

/** Every listener has a table that matches no hello of the suite. The table must make no difference. */
function withTables(limits: EngineLimits): Engine {
  const engine = new NativeEngine(limits, native, 1);
  const openListener = engine.openListener.bind(engine);
  engine.openListener = async (spec) => {
    const listener = await openListener(spec);
    listener.prepare(new Map([['hello', { backends: [], farewell: null, share: null, note: null }]]));
    return listener;
  };
  return engine;
}
engineConformance('native, with a table of prepared answers', withTables);
