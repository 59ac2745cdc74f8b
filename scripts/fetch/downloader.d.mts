/** Returns the directory of a package from PyPI, without its dependencies. `hashes` are the SHA-256 of its wheels. */
export declare function pythonPackage(what: {
  readonly name: string;
  readonly version: string;
  readonly hashes: readonly string[];
}): Promise<string>;
