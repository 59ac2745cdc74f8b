// The parts of prom-client that we use, each by its own file: the package as a whole loads OpenTelemetry, TLS for a push gateway and
// t-digests as well, 100 modules and 3 MB of them. Their types stand in prom-client-parts.d.ts.
import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';

export { Counter, Gauge, Histogram, Registry };
