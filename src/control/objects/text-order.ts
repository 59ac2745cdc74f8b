// The text order for all sorting in Isthmus: by code unit, so it is the same on every machine. `localeCompare`
// depends on the host's locale, so two instances could sort, and therefore decide, differently.

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
