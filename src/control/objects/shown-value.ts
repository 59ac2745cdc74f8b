// Formats an untrusted value for a message: short, on one line, with its type where that helps. It never shows the
// content of an object: YAML anchors can make objects cyclic.

const MAX_SHOWN = 60;

export function shownValue(value: unknown): string {
  if (typeof value === 'string') {
    // JSON escapes line breaks and control characters: a manifest cannot forge a log line.
    return value.length > MAX_SHOWN ? `${JSON.stringify(value.slice(0, MAX_SHOWN))}…` : JSON.stringify(value);
  }
  if (Array.isArray(value)) return 'a list';
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'object' ? 'an object' : `the ${typeof value} ${String(value)}`;
}
