// How a value from outside appears in a message: short, on one line, with its type where that is the point. Never follows
// references into the value: YAML anchors make cyclic objects.

const MAX_SHOWN = 60;

export function shownValue(value: unknown): string {
  if (typeof value === 'string') {
    // JSON escapes line breaks and control characters, so that a manifest cannot forge a log line.
    return value.length > MAX_SHOWN ? `${JSON.stringify(value.slice(0, MAX_SHOWN))}…` : JSON.stringify(value);
  }
  if (Array.isArray(value)) return 'a list';
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'object' ? 'an object' : `the ${typeof value} ${String(value)}`;
}
