/** TLS connections whose peer must be who it is asked for. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { bareHost } from '../url-address.ts';

/** A name as it is asked for in a handshake, and verified: without the dot of the root. */
export const tlsName = (host: string): string => bareHost(host).replace(/(?<=.)\.$/, '');

/** The name that a handshake asks for; none for an address. RFC 6066, 3. */
export function serverNameOf(host: string): { serverName?: string } {
  return isIP(tlsName(host)) === 0 ? { serverName: tlsName(host) } : {};
}

/** Why a certificate is not for this host, as browsers judge it: by its alternative names alone. */
export function identityProblem(certificate: X509Certificate, asked: string): Error | undefined {
  // The zone of an address is of this machine; no certificate has it.
  const host = asked.replace(/%.*/, '');
  const matched =
    isIP(host) === 0
      ? certificate.checkHost(host, { subject: 'never', partialWildcards: false })
      : certificate.checkIP(host);
  if (matched !== undefined) return undefined;
  // It takes an underscore for a wildcard too, which OpenSSL does not.
  const legacy = certificate.toLegacyObject();
  const problem = checkServerIdentity(host, legacy);
  const names = legacy.subjectaltname ?? '';
  if (problem !== undefined) return problem;
  const isPartial = /DNS:[^,]*(?:[^:,*]\*|\*[^.,])/.test(names);
  if (/DNS:/.test(names) && !isPartial) return undefined;
  const why = isPartial ? 'a name with a star for part of a label' : 'its common name only';
  const error = new Error(`the certificate has ${why}, which browsers do not accept`);
  return Object.assign(error, { code: 'ERR_TLS_CERT_ALTNAME_INVALID', cert: legacy });
}

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
      return identityProblem(certificate, host);
    },
  });
  Reflect.set(socket, 'getPeerCertificate', () => ({}));
  return socket;
}
