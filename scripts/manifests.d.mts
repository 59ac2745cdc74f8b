/** The chart's directory. */
export declare const CHART: string;
/** Of everything that the manifests are made of. */
export declare function sourceHash(): string;
/** By path below the work tree: what each should hold. */
export declare function renderedManifests(helm: string): Map<string, string>;
/** By absolute path: what in the chart follows from other files. */
export declare function chartCopies(): Map<string, string>;
