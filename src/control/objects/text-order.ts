// The text order for all sorting in Isthmus: by code unit, so it is the same on every machine. `localeCompare`
// depends on the host's locale, so two instances could sort, and therefore decide, differently.

export function byText(a: string, b: string): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
