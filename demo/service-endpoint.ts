// Replaces kube-proxy in the demo: maps a Service without a selector and its EndpointSlices to the address of one endpoint. Pure,
// and limited to what the demo needs.

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

/** Returns the first of several endpoints. kube-proxy would balance over them. */
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
      // Matches the port by name: without a selector, kube-proxy ignores the Service's targetPort.
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
    // Without a ready endpoint, kube-proxy uses endpoints that are terminating but still serving.
    found.find(({ conditions }) => conditions.serving === true && conditions.terminating === true);
  if (chosen === undefined) return { kind: 'none', reason: `Service ${name} has no ready endpoint` };
  return { kind: 'endpoint', slice: chosen.slice, address: chosen.address, port: chosen.port };
}
