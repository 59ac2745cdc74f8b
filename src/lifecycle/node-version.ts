// Checks the Node version. An older Node would fail later, at a missing feature, with an unclear error.

const OLDEST_NODE = [22, 19] as const;

/** null if the version is new enough. */
export function nodeProblem(node: string, path: string): string | null {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return null;
  return `isthmus needs Node ${OLDEST_NODE.join('.')} or later; this is ${node} (${path})`;
}
