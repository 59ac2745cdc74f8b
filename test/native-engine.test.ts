import { native } from '../src/netns/native.ts';
import { NativeEngine } from '../src/proxy/native/native-engine.ts';
import { engineConformance } from './conformance/engine.ts';
import { engineNetnsConformance } from './conformance/engine-netns.ts';
import { engineSharesConformance } from './conformance/engine-shares.ts';

for (const threads of [1, 3]) {
  engineConformance(`native, ${threads} threads`, (limits) => new NativeEngine(limits, native, threads));
  engineNetnsConformance(`native, ${threads} threads`, (limits) => new NativeEngine(limits, native, threads));
  engineSharesConformance(
    `native, ${threads} threads`,
    (limits) => new NativeEngine(limits, native, threads),
  );
}
