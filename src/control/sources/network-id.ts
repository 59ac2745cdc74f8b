// Which Neutron network ids are believed: UUIDs and nothing else. The id selects the netns that is entered, so a word that happens to
// be part of the name of some netns of this host must never get that far.

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Of the text of an id. */
export const UUID_LENGTH = 36;

/** The id as netns names carry it (in lower case), or null when this is no id. */
export function networkId(text: string): string | null {
  const lower = text.toLowerCase();
  return isUuid(lower) ? lower : null;
}

export const isUuid = (id: string): boolean => UUID.test(id);
