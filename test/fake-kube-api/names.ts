// The syntax of names, labels and annotations, with the messages of the real API server
// (k8s.io/apimachinery/pkg/util/validation).

const MAX_LABEL = 63;
const MAX_SUBDOMAIN = 253;

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS_1123_LABEL = new RegExp(`^${LABEL}$`);
const DNS_1123_SUBDOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*$`);
const DNS_1035_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const regexError = (message: string, format: string, ...examples: string[]): string =>
  `${message} (e.g. ${examples.map((each) => `'${each}'`).join(', or ')}, regex used for validation is '${format}')`;

const tooLong = (limit: number): string => `must be no more than ${limit} bytes`;

export type NameRule = (name: string) => string[];

export const dns1123Label: NameRule = (name) => [
  ...(name.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : []),
  ...(DNS_1123_LABEL.test(name)
    ? []
    : [
        regexError(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
          LABEL,
          'my-name',
          '123-abc',
        ),
      ]),
];

export const dns1123Subdomain: NameRule = (name) => [
  ...(name.length > MAX_SUBDOMAIN ? [tooLong(MAX_SUBDOMAIN)] : []),
  ...(DNS_1123_SUBDOMAIN.test(name)
    ? []
    : [
        regexError(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
          `${LABEL}(\\.${LABEL})*`,
          'example.com',
        ),
      ]),
];

export const dns1035Label: NameRule = (name) => [
  ...(name.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : []),
  ...(DNS_1035_LABEL.test(name)
    ? []
    : [
        regexError(
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          '[a-z]([-a-z0-9]*[a-z0-9])?',
          'my-name',
          'abc-123',
        ),
      ]),
];

export const isQualifiedName = (text: string): boolean => qualifiedName(text).length === 0;

/** `prefix/name` or `name`: keys of labels and annotations, finalizers. */
export const qualifiedName: NameRule = (text) => {
  const parts = text.split('/');
  const name = parts.pop() as string;
  const problems: string[] = [];
  if (parts.length > 1)
    return [
      regexError(
        "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character with an optional DNS subdomain prefix and '/'",
        '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
        'MyName',
        'my.name',
        '123-abc',
      ),
    ];
  if (parts.length === 1)
    problems.push(
      ...(parts[0] === ''
        ? ['prefix part must be non-empty']
        : dns1123Subdomain(parts[0] as string).map((each) => `prefix part ${each}`)),
    );
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > MAX_LABEL) problems.push(`name part ${tooLong(MAX_LABEL)}`);
  if (!NAME_PART.test(name))
    problems.push(
      `name part ${regexError(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
        'MyName',
        'my.name',
        '123-abc',
      )}`,
    );
  return problems;
};

export const isLabelValue = (text: string): boolean => labelValue(text).length === 0;

export const labelValue: NameRule = (text) => [
  ...(text.length > MAX_LABEL ? [tooLong(MAX_LABEL)] : []),
  ...(LABEL_VALUE.test(text)
    ? []
    : [
        regexError(
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?',
          'MyValue',
          'my_value',
          '12345',
        ),
      ]),
];

/** Keys of a Secret's data. */
export const dataKey: NameRule = (key) => {
  if (key.length > MAX_SUBDOMAIN) return [tooLong(MAX_SUBDOMAIN)];
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    return [
      regexError(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        '[-._a-zA-Z0-9]+',
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    ];
  return key === '.' || key.startsWith('..') ? ["must not be '.' or start with '..'"] : [];
};
