// What kube-proxy makes of a Service without a selector and its EndpointSlices: the address that a connection to it is sent to.
// Pure; the demo's stand-in for it, no more than the demo needs.

export interface ServiceView {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly ports: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
  };
}

export interface SliceView {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?: readonly {
    readonly addresses: readonly string[];
    readonly conditions?: {
      readonly ready?: boolean;
      readonly serving?: boolean;
      readonly terminating?: boolean;
    };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[];
}

export type ServiceEndpoint =
  | { readonly kind: 'endpoint'; readonly slice: string; readonly address: string; readonly port: number }
  | { readonly kind: 'none'; readonly reason: string };

/** Of several the first: kube-proxy would take turns. */
export function serviceEndpoint(
  service: ServiceView,
  slices: readonly SliceView[],
  port: number,
): ServiceEndpoint {
  const { name } = service.metadata;
  const wanted = service.spec.ports.find((each) => each.port === port);
  if (wanted === undefined) return { kind: 'none', reason: `Service ${name} has no port ${port}` };
  const found = slices
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name)
    .flatMap((slice) => {
      // By name: without a selector the Service's targetPort counts for nothing.
      const target = slice.ports?.find(
        (each) =>
          (each.name ?? '') === (wanted.name ?? '') &&
          (each.protocol ?? 'TCP') === (wanted.protocol ?? 'TCP'),
      );
      if (target?.port === undefined) return [];
      const to = { slice: slice.metadata.name, port: target.port };
      return (slice.endpoints ?? []).map(({ addresses: [address = ''], conditions }) => ({
        ...to,
        address,
        conditions: conditions ?? {},
      }));
    });
  const chosen =
    found.find(({ conditions }) => conditions.ready !== false) ??
    // Nobody is ready: those who are just leaving are better than nobody.
    found.find(({ conditions }) => conditions.serving === true && conditions.terminating === true);
  if (chosen === undefined) return { kind: 'none', reason: `Service ${name} has no ready endpoint` };
  return { kind: 'endpoint', slice: chosen.slice, address: chosen.address, port: chosen.port };
}
