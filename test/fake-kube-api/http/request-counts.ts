// Counts requests by verb and resource. It replaces the audit log of a real API server.
import type { RequestInfo } from './request-info.ts';

export class RequestCounts {
  readonly #byUser = new Map<string, Map<string, number>>();

  add(user: string, info: RequestInfo): void {
    const counts = this.#byUser.get(user) ?? new Map<string, number>();
    this.#byUser.set(user, counts);
    const of = info.kind === 'path' ? info.path : info.resource;
    const subresource = info.kind === 'resource' && info.subresource !== '' ? `/${info.subresource}` : '';
    const key = `${info.verb} ${of}${subresource}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }

  /** The counts of one user or of all users, such as `{'list services': 3, 'get /version': 1}`. */
  read(user?: string): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const [name, counts] of this.#byUser)
      if (user === undefined || user === name)
        for (const [key, count] of counts) sums[key] = (sums[key] ?? 0) + count;
    return sums;
  }
}
