// Which Node this program runs on. Below the oldest, the first thing that is not there would be a riddle.

const OLDEST_NODE = [22, 19] as const;

/** null when it is new enough. */
export function nodeProblem(node: string, path: string): string | null {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return null;
  return `isthmus needs Node ${OLDEST_NODE.join('.')} or later; this is ${node} (${path})`;
}
