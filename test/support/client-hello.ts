// A real ClientHello of this Node's OpenSSL: the first bytes that tls.connect writes, before the server answers.
import { Duplex } from 'node:stream';
import { connect } from 'node:tls';

export function clientHello(serverName: string | null): Promise<Buffer> {
  return new Promise((resolve) => {
    const pipe = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        resolve(chunk);
        done();
      },
    });
    const socket = connect({ socket: pipe, ...(serverName === null ? {} : { servername: serverName }) });
    socket.on('error', () => {});
  });
}
