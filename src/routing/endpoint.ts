// An address and a port as people and URLs write them. Pure.

export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
