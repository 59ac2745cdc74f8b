// The syntax of label keys and values in Kubernetes (apimachinery's IsLabelKey and IsLabelValue), with a reason for each rejection.
// Pure. The fake API in test/fake-kube-api has its own check, with the messages of the real API server.

const MAX_NAME = 63;
const MAX_PREFIX = 253;

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

const NAME_RULE = `1 to ${MAX_NAME} of A-Z, a-z, 0-9, "-", "_" and ".", with a letter or digit first and last`;

/** null for a valid key: `name` or `dns.prefix/name`. */
export function labelKeyProblem(key: string): string | null {
  const parts = key.split('/');
  if (parts.length > 2) return 'use at most one "/" in a key';
  const [name = '', prefix] = parts.reverse();
  if (prefix !== undefined && !isDnsSubdomain(prefix))
    return `before the "/", use a DNS name in lower case of at most ${MAX_PREFIX} characters`;
  if (isName(name)) return null;
  return prefix === undefined ? `use ${NAME_RULE}` : `after the "/", use ${NAME_RULE}`;
}

/** null for a valid value. The empty value is valid. */
export function labelValueProblem(value: string): string | null {
  return value === '' || isName(value) ? null : `use an empty value, or ${NAME_RULE}`;
}

// The length check comes first: it bounds the cost of the regular expression.
const isName = (text: string): boolean => text.length <= MAX_NAME && NAME.test(text);

export const isDnsSubdomain = (text: string): boolean =>
  text.length <= MAX_PREFIX && text.split('.').every((label) => DNS_LABEL.test(label));
