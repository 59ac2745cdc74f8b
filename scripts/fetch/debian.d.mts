/** Fetches one program even if the machine has it. Returns its path and its LD_LIBRARY_PATH. */
export declare function fetchedProgram(
  name: string,
  packages?: readonly string[],
): Promise<{ readonly path: string; readonly libraries: string }>;
