// Owns the stable names for "these bytes are no ClientHello we can route". They appear in logs and metrics,
// so one may be added but never renamed or given another meaning.

/**
 * | reason                  | the bytes …                                                                    |
 * | ----------------------- | ------------------------------------------------------------------------------ |
 * | `sslv2`                 | open with an SSLv2 record (0x80: a two-byte header and under 256 bytes)        |
 * | `plain-http`            | open with an HTTP request method                                               |
 * | `ssh`                   | open with `S`, as an SSH banner does                                           |
 * | `proxy-protocol`        | open with a PROXY protocol header where none is expected                       |
 * | `not-handshake`         | open with a record of another type, or with nothing we know                    |
 * | `interleaved-record`    | put a record of another type between the records of the hello                  |
 * | `bad-record-version`    | have a record whose version is not 3.x (RFC 5246 E.1: any 3.x must be accepted) |
 * | `bad-record-length`     | have a record that is empty or over 2^14 bytes (RFC 8446 5.1)                  |
 * | `not-client-hello`      | hold another handshake message                                                 |
 * | `message-too-long`      | announce a message body over 65 536 bytes (Go's and our limit)                 |
 * | `message-too-short`     | announce a body in which the mandatory fields have no room                     |
 * | `bad-client-version`    | offer SSL 3.0 or older                                                         |
 * | `bad-session-id`        | have a session id over 32 bytes or past the message's end                      |
 * | `bad-cipher-suites`     | have cipher suites that are none, an odd number of bytes, or past the end      |
 * | `bad-compression`       | have compression methods that are none, lack null, or lie past the end         |
 * | `bad-extensions`        | have extensions whose lengths do not add up to exactly the rest of the message |
 * | `duplicate-server-name` | carry a second server_name extension, or a second host name in one             |
 * | `bad-server-name-list`  | have a server_name whose lengths do not add up, or whose list is empty         |
 * | `name-empty`            | name nothing, or the root `.`                                                  |
 * | `name-too-long`         | name more than 253 bytes, a trailing dot aside (RFC 1035 3.1)                  |
 * | `name-has-nul`          | have a NUL in the name: some C string ends there                               |
 * | `name-not-ascii`        | have a byte over 0x7f in the name (RFC 6066 3: A-labels only)                  |
 * | `name-bad-character`    | have another byte in the name than letters, digits, `-`, `_` and `.`           |
 * | `name-bad-label`        | have an empty label in the name or one over 63 bytes (RFC 1035 3.1)            |
 * | `name-is-ip`            | name an IPv4 or IPv6 address (forbidden by RFC 6066 3)                         |
 */
export type InvalidHelloReason = ForeignProtocol | RecordProblem | FieldProblem | ServerNameProblem;

/** What a peer speaks that opens with something other than a TLS handshake record. */
export type ForeignProtocol = 'sslv2' | 'plain-http' | 'ssh' | 'proxy-protocol' | 'not-handshake';

export type RecordProblem = 'interleaved-record' | 'bad-record-version' | 'bad-record-length';

export type FieldProblem =
  | 'not-client-hello'
  | 'message-too-long'
  | 'message-too-short'
  | 'bad-client-version'
  | 'bad-session-id'
  | 'bad-cipher-suites'
  | 'bad-compression'
  | 'bad-extensions'
  | 'duplicate-server-name'
  | 'bad-server-name-list';

export type ServerNameProblem =
  | 'name-empty'
  | 'name-too-long'
  | 'name-has-nul'
  | 'name-not-ascii'
  | 'name-bad-character'
  | 'name-bad-label'
  | 'name-is-ip';
