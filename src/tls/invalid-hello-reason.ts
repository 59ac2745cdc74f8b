// The reasons to reject bytes that are not a routable ClientHello. Each meaning continues the sentence "the bytes …". The reasons
// appear in logs and metrics: a reason may be added, but never renamed or given another meaning.

/** The protocol of a peer whose first bytes are not a TLS handshake record. */
const FOREIGN_PROTOCOLS = {
  sslv2: 'start with an SSLv2 record (0x80: a two-byte header, and a length under 256 bytes)',
  'plain-http': 'start with an HTTP request method',
  ssh: 'start with `S`, like an SSH banner',
  'proxy-protocol': 'start with a PROXY protocol header, but the client is not a trusted proxy',
  'not-handshake': 'start with a record of another type, or with an unknown protocol',
} as const;

const RECORD_PROBLEMS = {
  'interleaved-record': 'contain a record of another type between the records of the hello',
  'bad-record-version': 'contain a record whose version is not 3.x (RFC 5246 E.1: any 3.x must be accepted)',
  'bad-record-length': 'contain a record that is empty or longer than 2^14 bytes (RFC 8446 5.1)',
} as const;

const FIELD_PROBLEMS = {
  'not-client-hello': 'contain another handshake message',
  'message-too-long': 'announce a message body of more than 65 536 bytes (the limit of Go and of this proxy)',
  'message-too-short': 'announce a body that is too short for the mandatory fields',
  'bad-client-version': 'offer SSL 3.0 or older',
  'bad-session-id': 'contain a session id that is longer than 32 bytes or than the message',
  'bad-cipher-suites': 'contain cipher suites that are empty, of odd length, or longer than the message',
  'bad-compression': 'contain compression methods that are empty, lack null, or are longer than the message',
  'bad-extensions': 'contain extensions whose lengths do not add up to the rest of the message',
  'duplicate-server-name': 'contain a second server_name extension, or a second host name in one',
  'bad-server-name-list': 'contain a server_name whose lengths do not add up, or whose list is empty',
} as const;

const SERVER_NAME_PROBLEMS = {
  'name-empty': 'contain an empty name, or the root `.`',
  'name-too-long': 'contain a name of more than 253 bytes, not counting a trailing dot (RFC 1035 3.1)',
  'name-has-nul': 'contain a NUL in the name, where a C string would end',
  'name-not-ascii': 'contain a byte above 0x7f in the name (RFC 6066 3: A-labels only)',
  'name-bad-character': 'contain a byte in the name that is not a letter, a digit, `-`, `_` or `.`',
  'name-bad-label': 'contain an empty label in the name, or a label of more than 63 bytes (RFC 1035 3.1)',
  'name-is-ip': 'contain an IPv4 or IPv6 address as name (forbidden by RFC 6066 3)',
} as const;

export const INVALID_HELLO_REASONS = {
  ...FOREIGN_PROTOCOLS,
  ...RECORD_PROBLEMS,
  ...FIELD_PROBLEMS,
  ...SERVER_NAME_PROBLEMS,
};

export type ForeignProtocol = keyof typeof FOREIGN_PROTOCOLS;
export type RecordProblem = keyof typeof RECORD_PROBLEMS;
export type ServerNameProblem = keyof typeof SERVER_NAME_PROBLEMS;
export type InvalidHelloReason = keyof typeof INVALID_HELLO_REASONS;
