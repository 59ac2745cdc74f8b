// Loads the parts of prom-client that isthmus uses, file by file. The whole package also loads OpenTelemetry, TLS for a push gateway
// and t-digests: 100 modules and 3 MB. prom-client-parts.d.ts has the types.
import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';

export { Counter, Gauge, Histogram, Registry };
