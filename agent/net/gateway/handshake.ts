/** The TLS handshake of the gateway with a target. */
import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { Target } from './dial.ts';
import { onEnding, type Ending } from './ending.ts';

export interface HandshakeOptions {
  readonly secureContext: SecureContext;
  /** What to offer to speak; the default of TLS when absent. */
  readonly protocols?: readonly string[];
  /** Whether a certificate that is not to be trusted ends it. */
  readonly rejectUnauthorized: boolean;
}

/** Shakes hands over a connection to the target, which is closed when that fails. */
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
      // From the inside out: Node crashes when what TLS stands on is taken away first.
      socket.destroy();
      below.destroy();
    };
    // A connection that was closed meanwhile says nothing but this.
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
