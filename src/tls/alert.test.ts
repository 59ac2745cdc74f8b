import { createServer } from 'node:net';
import { connect, type SecureVersion } from 'node:tls';
import { expect, test } from 'vitest';
import { type AlertName, alertRecord } from './alert.ts';

test.each<[AlertName, number]>([
  ['handshake_failure', 40],
  ['decode_error', 50],
  ['internal_error', 80],
  ['unrecognized_name', 112],
])('%s is one fatal alert record with code %i', (name, code) => {
  expect([...alertRecord(name)]).toEqual([21, 3, 1, 0, 2, 2, code]);
});

test('the same alert is the same record', () => {
  expect(alertRecord('internal_error')).toBe(alertRecord('internal_error'));
});

test.each<[SecureVersion, AlertName, number]>([
  ['TLSv1.3', 'unrecognized_name', 112],
  ['TLSv1.2', 'unrecognized_name', 112],
  ['TLSv1.3', 'internal_error', 80],
  ['TLSv1.2', 'internal_error', 80],
  ['TLSv1.2', 'handshake_failure', 40],
  ['TLSv1.3', 'decode_error', 50],
])('a %s client understands %s', async (version, name, code) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(alertRecord(name)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as { port: number };
    const error = await new Promise<Error>((resolve) => {
      const options = {
        host: '127.0.0.1',
        port,
        servername: 'demo',
        minVersion: version,
        maxVersion: version,
      };
      connect(options).once('error', resolve);
    });
    expect(error.message).toContain(`SSL alert number ${code}`);
  } finally {
    server.close();
  }
});
