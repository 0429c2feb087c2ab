/** The TLS handshake of the gateway with a target. */
import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { Target } from './dial.ts';
import { onEnding, type Ending } from './ending.ts';

export interface HandshakeOptions {
  readonly secureContext: SecureContext;
  /** ALPN protocols to offer; absent for none. */
  readonly protocols?: readonly string[];
  /** True when an untrusted certificate ends the handshake. */
  readonly rejectUnauthorized: boolean;
}

/** Makes a TLS handshake on a connection to the target, which is closed on failure. */
export function shakeHands(
  below: Socket,
  { host }: Target,
  { secureContext, protocols = [], rejectUnauthorized }: HandshakeOptions,
  ending: Ending,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const isName = /[a-z]/i.test(host) && !host.includes(':');
    const socket = connectTls({
      ...{ socket: below, secureContext, rejectUnauthorized },
      ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
      ...(isName ? { servername: host } : { host }),
    });
    const fail = (error: Error): void => {
      callOff();
      reject(error);
      // From the inside out: Node crashes when the socket below TLS is destroyed first.
      socket.destroy();
      below.destroy();
    };
    // The only event of a connection that was closed in the meantime.
    const onClose = (): void => {
      fail(Object.assign(new Error('closed in the TLS handshake'), { code: 'SOCKET_CLOSED' }));
    };
    socket.once('error', fail);
    socket.once('close', onClose);
    const callOff = onEnding(ending, 'TIMEOUT', fail);
    socket.once('secureConnect', () => {
      callOff();
      socket.removeListener('error', fail);
      socket.removeListener('close', onClose);
      resolve(socket);
    });
  });
}
