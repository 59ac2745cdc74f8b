// Types for the files of prom-client that prometheus.ts and process-metrics.ts load, taken from the package's own types.
declare module 'prom-client/lib/counter.js' {
  import { Counter } from 'prom-client';
  export default Counter;
}
declare module 'prom-client/lib/gauge.js' {
  import { Gauge } from 'prom-client';
  export default Gauge;
}
declare module 'prom-client/lib/histogram.js' {
  import { Histogram } from 'prom-client';
  export default Histogram;
}
declare module 'prom-client/lib/registry.js' {
  import { Registry } from 'prom-client';
  export default Registry;
}
declare module 'prom-client/lib/metrics/*.js' {
  import type { Registry } from 'prom-client';

  const addMetrics: (registry: Registry) => void;
  export default addMetrics;
}
