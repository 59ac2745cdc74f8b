// Runs every conformance suite on the streams engine.

import { native } from '../../src/netns/native.ts';
import { StreamsEngine } from '../../src/proxy/streams/streams-engine.ts';
import { engineConformance } from '../conformance/engine.ts';
import { engineBalanceConformance } from '../conformance/engine-balance.ts';
import { engineInheritedConformance } from '../conformance/engine-inherited.ts';
import { engineNetnsConformance } from '../conformance/engine-netns.ts';
import { enginePreparedConformance } from '../conformance/engine-prepared.ts';
import { enginePressureConformance } from '../conformance/engine-pressure.ts';
import { engineSharesConformance } from '../conformance/engine-shares.ts';

engineConformance('streams', (limits) => new StreamsEngine(limits, native));
engineNetnsConformance('streams', (limits) => new StreamsEngine(limits, native));
engineBalanceConformance('streams', (limits) => new StreamsEngine(limits, native));
engineSharesConformance('streams', (limits) => new StreamsEngine(limits, native));
enginePreparedConformance('streams', (limits) => new StreamsEngine(limits, native), false);
engineInheritedConformance('streams', (limits) => new StreamsEngine(limits, native));
enginePressureConformance('streams', (limits) => new StreamsEngine(limits, native), true);
