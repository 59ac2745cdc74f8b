// The hash in a name that would be too long, or somebody else's. The same on every instance and in every version. Pure.

/** 40 bits: among a thousand names that all need one, two alike in one of two million installations. */
export const NAME_HASH_DIGITS = 10;

export function nameHash(text: string): string {
  // Late: few names need one, and without it an instance that serves from files need not load any cryptography.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256').update(text).digest('hex').slice(0, NAME_HASH_DIGITS);
}
