/** Facts about a TLS handshake as text. */
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { codeOf } from '../failure.ts';

export interface CertificateFacts {
  subject: string;
  issuer: string;
  validTo: string;
  daysRemaining: number;
}

const dayMs = 86_400_000;

/** A distinguished name on one line, from Node's lines of `KEY=value`. */
export const nameInOneLine = (name: string): string => name.trim().replaceAll('\n', ', ');

/** Facts about the peer certificate. Call it once, after the verification, because Node frees it. */
export function certificateFacts(socket: TLSSocket, now: number): CertificateFacts | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  const { subject, issuer, validTo } = certificate;
  const daysRemaining = Math.floor((Date.parse(validTo) - now) / dayMs);
  return { subject: subject ?? '', issuer: issuer ?? '', validTo, daysRemaining };
}

/** Protocol, cipher and certificate as text. */
export function describeHandshake(socket: TLSSocket, certificate: CertificateFacts | null): string {
  const by = certificate === null ? '' : `, certificate by ${nameInOneLine(certificate.issuer)}`;
  return `${socket.getProtocol()} with ${socket.getCipher().name}${by}`;
}

type Judge = Partial<Record<'verifyError', () => unknown>>;

/**
 * Calls back with the issuer of a certificate that is about to be refused because of its chain:
 * with the error, Node has freed the certificate. Only the internal handle of the socket shows the
 * refusal at that time; without such a handle there is no call.
 */
export function onRefusedChain(socket: TLSSocket, callback: (issuer: string) => void): void {
  socket.prependOnceListener('secure', () => {
    const handle = (socket as unknown as { _handle?: Judge | null })._handle;
    if (handle?.verifyError?.() == null) return;
    callback((socket.getPeerX509Certificate()?.issuer ?? 'nobody').replaceAll('\n', ', '));
  });
}

/** The TLS alert or the verification error of a handshake; null for other errors. */
export function complaintOf(error: unknown): string | null {
  const message = error instanceof Error ? error.message : '';
  const alert = /:SSL routines:[^:]*:(?:\w+ )?alert ([^:]+):/.exec(message)?.[1];
  if (alert !== undefined) return `alert from the other side: ${alert}`;
  if (codeOf(error) !== 'ERR_TLS_CERT_ALTNAME_INVALID') return null;
  const { cert } = error as { cert?: PeerCertificate };
  return cert === undefined ? null : `the certificate is for ${cert.subjectaltname ?? 'no name'}`;
}
