// Accepts only UUIDs as Neutron network ids. The id selects the netns to enter. Arbitrary text could match part of the name of another
// netns on this host.

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Length of a UUID as text. */
export const UUID_LENGTH = 36;

/** The id in lower case, as in netns names; null if the text is not a UUID. */
export function networkId(text: string): string | null {
  const lower = text.toLowerCase();
  return isUuid(lower) ? lower : null;
}

export const isUuid = (id: string): boolean => UUID.test(id);
