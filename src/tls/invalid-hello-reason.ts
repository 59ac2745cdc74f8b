// Owns the stable reasons to reject bytes that are not a routable ClientHello. They appear in logs and metrics:
// a reason may be added, but never renamed or given another meaning.

/**
 * | reason                  | the bytes …                                                                    |
 * | ----------------------- | ------------------------------------------------------------------------------ |
 * | `sslv2`                 | open with an SSLv2 record (0x80: a two-byte header and under 256 bytes)        |
 * | `plain-http`            | open with an HTTP request method                                               |
 * | `ssh`                   | open with `S`, as an SSH banner does                                           |
 * | `proxy-protocol`        | open with a PROXY protocol header where none is expected                       |
 * | `not-handshake`         | open with a record of another type, or with an unknown protocol                |
 * | `interleaved-record`    | put a record of another type between the records of the hello                  |
 * | `bad-record-version`    | have a record whose version is not 3.x (RFC 5246 E.1: any 3.x must be accepted) |
 * | `bad-record-length`     | have a record that is empty or over 2^14 bytes (RFC 8446 5.1)                  |
 * | `not-client-hello`      | hold another handshake message                                                 |
 * | `message-too-long`      | announce a message body over 65 536 bytes (the limit of Go and of this proxy)  |
 * | `message-too-short`     | announce a body that is too short for the mandatory fields                     |
 * | `bad-client-version`    | offer SSL 3.0 or older                                                         |
 * | `bad-session-id`        | have a session id over 32 bytes or past the message's end                      |
 * | `bad-cipher-suites`     | have cipher suites that are empty, of odd length, or past the end              |
 * | `bad-compression`       | have compression methods that are empty, lack null, or lie past the end        |
 * | `bad-extensions`        | have extensions whose lengths do not add up to exactly the rest of the message |
 * | `duplicate-server-name` | carry a second server_name extension, or a second host name in one             |
 * | `bad-server-name-list`  | have a server_name whose lengths do not add up, or whose list is empty         |
 * | `name-empty`            | have an empty name, or the root `.`                                            |
 * | `name-too-long`         | have a name over 253 bytes, without a trailing dot (RFC 1035 3.1)              |
 * | `name-has-nul`          | have a NUL in the name: a C string would end there                             |
 * | `name-not-ascii`        | have a byte over 0x7f in the name (RFC 6066 3: A-labels only)                  |
 * | `name-bad-character`    | have a byte in the name other than letters, digits, `-`, `_` and `.`           |
 * | `name-bad-label`        | have an empty label in the name, or a label over 63 bytes (RFC 1035 3.1)       |
 * | `name-is-ip`            | name an IPv4 or IPv6 address (forbidden by RFC 6066 3)                         |
 */
export type InvalidHelloReason = ForeignProtocol | RecordProblem | FieldProblem | ServerNameProblem;

/** The protocol of a peer whose first bytes are not a TLS handshake record. */
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
