/** TLS connections whose peer must be who it is asked for. */
import { isIP } from 'node:net';
import { checkServerIdentity, connect, type ConnectionOptions, type TLSSocket } from 'node:tls';

/**
 * Like `connect` of Node with `rejectUnauthorized`. Node makes an object of the whole chain in every
 * handshake to check the identity, which is a fifth of what a connection costs; here this is done only
 * for a certificate that seems to be for another host, to say how. `getPeerX509Certificate` of the
 * socket works, `getPeerCertificate` does not.
 */
export function connectVerified(options: ConnectionOptions): TLSSocket {
  const socket: TLSSocket = connect({
    ...options,
    rejectUnauthorized: true,
    checkServerIdentity: (host): Error | undefined => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate === undefined) return new Error('the peer has no certificate');
      // Node hands it out once.
      Reflect.set(socket, 'getPeerX509Certificate', () => certificate);
      const matched =
        isIP(host) === 0
          ? certificate.checkHost(host, { subject: 'never', partialWildcards: false })
          : certificate.checkIP(host);
      if (matched !== undefined) return undefined;
      return checkServerIdentity(host, certificate.toLegacyObject());
    },
  });
  Reflect.set(socket, 'getPeerCertificate', () => ({}));
  return socket;
}
