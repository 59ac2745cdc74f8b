// Formats an address and a port as in a URL: IPv6 in brackets. Pure.

export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`;
}
