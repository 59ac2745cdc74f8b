// What Kubernetes takes for the key and the value of a label (apimachinery's IsLabelKey and IsLabelValue), with the reason for a
// person where it does not. Pure; the embedded API of the demo has its own, with the messages of the real one.

const MAX_NAME = 63;
const MAX_PREFIX = 253;

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

const NAME_RULE = `at most ${MAX_NAME} of A-Z, a-z, 0-9, "-", "_" and ".", a letter or digit first and last`;

/** null for one that Kubernetes takes: `name`, or `dns.prefix/name`. */
export function labelKeyProblem(key: string): string | null {
  const parts = key.split('/');
  if (parts.length > 2) return 'a key has one "/" at most';
  const [name = '', prefix] = parts.reverse();
  if (prefix !== undefined && !isDnsSubdomain(prefix))
    return `before the "/" a DNS name belongs, in lower case and of at most ${MAX_PREFIX} characters`;
  if (isName(name)) return null;
  return prefix === undefined ? `a key is ${NAME_RULE}` : `after the "/" belong ${NAME_RULE}`;
}

/** null for one that Kubernetes takes; the empty one is. */
export function labelValueProblem(value: string): string | null {
  return value === '' || isName(value) ? null : `a value is empty, or ${NAME_RULE}`;
}

// Lengths first: what is short is matched in no time, whatever it is.
const isName = (text: string): boolean => text.length <= MAX_NAME && NAME.test(text);

export const isDnsSubdomain = (text: string): boolean =>
  text.length <= MAX_PREFIX && text.split('.').every((label) => DNS_LABEL.test(label));
