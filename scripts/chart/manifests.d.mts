/** The chart's directory. */
export declare const CHART: string;
/** Returns a hash of all sources of the manifests. */
export declare function sourceHash(): string;
/** Maps each path below the work tree to its expected content. */
export declare function renderedManifests(helm: string): Map<string, string>;
/** Maps absolute paths to the chart files that are derived from other files. */
export declare function chartCopies(): Map<string, string>;
