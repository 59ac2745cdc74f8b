// Which Neutron network ids are believed. The id selects the netns that is entered, so one that could match part of
// another tenant's netns name must never get that far.

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const PLAIN = /^[0-9a-zA-Z](?:[0-9a-zA-Z-]{0,62}[0-9a-zA-Z])?$/;

/** The id as netns names carry it (UUIDs in lower case), or null when this is no id. */
export function networkId(text: string): string | null {
  const lower = text.toLowerCase();
  if (UUID.test(lower)) return lower;
  return PLAIN.test(text) ? text : null;
}

export const isUuid = (id: string): boolean => UUID.test(id);
