// The page of the log fields and of the reasons of connections.
import { PROXY_HEADER_PROBLEMS } from '../../src/proxy/proxy-protocol.ts';
import { FAILURE_REASONS, ROUTING_REASONS } from '../../src/proxy/reasons.ts';
import { CONNECTION_FIELDS, OTHER_FIELDS } from '../../src/telemetry/log/log-fields.ts';
import { INVALID_HELLO_REASONS } from '../../src/tls/invalid-hello-reason.ts';
import { code, page, type ReferencePage, table } from './page.ts';

type Meanings = Readonly<Record<string, string>>;

const prefixed = (prefix: string, meanings: Meanings): Meanings =>
  Object.fromEntries(Object.entries(meanings).map(([name, meaning]) => [`${prefix}${name}`, meaning]));

/** By the heading of their table. */
export const REASONS: Readonly<Record<string, Meanings>> = {
  'The client is not routed, or not served': { ...ROUTING_REASONS, ...FAILURE_REASONS },
  'The bytes are not a ClientHello: the bytes …': INVALID_HELLO_REASONS,
  'The PROXY header of a trusted load balancer is broken: the header …': prefixed(
    'proxy-header-',
    PROXY_HEADER_PROBLEMS,
  ),
};

const meaningTable = (head: string, meanings: Meanings): string =>
  table(
    [head, 'meaning'],
    Object.entries(meanings).map(([name, meaning]) => [code(name), meaning]),
  );

export function logs(): ReferencePage {
  return page({
    name: 'logs',
    title: 'Log fields and reasons',
    sources: [
      'src/telemetry/log/log-fields.ts',
      'src/proxy/reasons.ts',
      'src/tls/invalid-hello-reason.ts',
      'src/proxy/proxy-protocol.ts',
    ],
    blocks: [
      'With `--log-format json` each line is one JSON object: `level`, `time` (ISO 8601, UTC), the fields below, and `msg`. ' +
        'Names of fields and reasons are stable. The texts of `msg` are not.',
      '## Fields of connections',
      'Each connection writes one line when it ends. Equal warnings are limited: at most five in ten seconds per reason, cluster and listener.',
      meaningTable('field', CONNECTION_FIELDS),
      '## Fields of all other lines',
      meaningTable('field', OTHER_FIELDS),
      '## Reasons of connections',
      'The field `reason` in the log, and the label `reason` in [metrics](metrics.md). A connection that has none of these reasons has its ' +
        '[outcome](connection-outcomes.md) as reason. With the outcome `dial-failed` the reason is the error code of the last dial, such as ' +
        '`ECONNREFUSED`. `EBACKENDDOWN` means that health checks found the backend down during the dial, and `ENETNSCHANGED` that its netns ' +
        'was replaced. With the outcome `policy-error` it is the text of the bug.',
      ...Object.entries(REASONS).flatMap(([title, meanings]) => [
        `### ${title}`,
        meaningTable('reason', meanings),
      ]),
    ],
  });
}
