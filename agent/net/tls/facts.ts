/** What a TLS handshake is known by afterwards, in words. */
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { codeOf } from '../failure.ts';

export interface CertificateFacts {
  subject: string;
  issuer: string;
  validTo: string;
  daysRemaining: number;
}

const dayMs = 86_400_000;

/** The name in a certificate, which Node gives as lines of `KEY=value`, as one line. */
export function nameInOneLine(name: string): string {
  return name.trim().replaceAll('\n', ', ');
}

/** The certificate of the other side. To be asked once, after it was judged: Node gives it away. */
export function certificateFacts(socket: TLSSocket, now: number): CertificateFacts | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  const { subject, issuer, validTo } = certificate;
  const daysRemaining = Math.floor((Date.parse(validTo) - now) / dayMs);
  return { subject: subject ?? '', issuer: issuer ?? '', validTo, daysRemaining };
}

/** Protocol, cipher and whose certificate it was. */
export function describeHandshake(socket: TLSSocket, certificate: CertificateFacts | null): string {
  const by = certificate === null ? '' : `, certificate by ${nameInOneLine(certificate.issuer)}`;
  return `${socket.getProtocol()} with ${socket.getCipher().name}${by}`;
}

type Judge = Partial<Record<'verifyError', () => unknown>>;

/**
 * Calls back with who made a certificate that is about to be refused for its chain: with the error, Node
 * has already let go of it. Whether it is refused only the handle of the socket tells by then; where a
 * Node has no such handle, nobody is called.
 */
export function onRefusedChain(socket: TLSSocket, callback: (issuer: string) => void): void {
  socket.prependOnceListener('secure', () => {
    const handle = (socket as unknown as { _handle?: Judge | null })._handle;
    if (handle?.verifyError?.() == null) return;
    callback((socket.getPeerX509Certificate()?.issuer ?? 'nobody').replaceAll('\n', ', '));
  });
}

/** What the other side, or we, complained about in a handshake; null for any other error. */
export function complaintOf(error: unknown): string | null {
  const message = error instanceof Error ? error.message : '';
  const alert = /:SSL routines:[^:]*:(?:\w+ )?alert ([^:]+):/.exec(message)?.[1];
  if (alert !== undefined) return `alert from the other side: ${alert}`;
  if (codeOf(error) !== 'ERR_TLS_CERT_ALTNAME_INVALID') return null;
  const { cert } = error as { cert?: PeerCertificate };
  return cert === undefined ? null : `the certificate is for ${cert.subjectaltname ?? 'no name'}`;
}
