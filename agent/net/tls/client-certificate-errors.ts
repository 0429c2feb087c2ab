/** Explains rejections of client certificates. */
import { codeOf } from '../failure.ts';
import { alertOf } from '../tls-alert.ts';

/** TLS alerts about the client certificate only. */
const aboutTheCertificate: Readonly<Record<number, string>> = {
  42: 'it calls it bad',
  43: 'it does not support its kind',
  44: 'it says it was revoked',
  45: 'it says it has expired',
  46: 'it gives no reason',
  48: 'it does not know the authority that signed it',
  49: 'it denies access with it',
  51: 'it could not verify the signature made with its key',
};

const certificateRequired = 116;
/** An alert with other causes too. */
const handshakeFailure = 40;

/** Errors without a TLS alert: some servers reject this way. */
const wordless = new Set(['ECONNRESET', 'SOCKET_CLOSED', 'EPIPE']);

export interface Rejection {
  /** Host pattern of the sent certificate, or null. */
  readonly shownFor: string | null;
  /** `after`: the handshake was complete, but nothing was answered yet. */
  readonly moment: 'handshake' | 'after' | 'later';
}

/** Explains an end of a connection that may be caused by client certificates; null for others. */
export function clientCertificateRejection(
  error: unknown,
  { shownFor, moment }: Rejection,
): string | null {
  const alert = alertOf(error);
  if (shownFor === null) {
    if (alert === handshakeFailure) {
      return 'the server refused the TLS handshake; perhaps it wants a client certificate, and none is stored for this host';
    }
    const isWanted =
      alert === certificateRequired || (alert !== null && alert in aboutTheCertificate);
    return isWanted
      ? 'the server wants a client certificate, and none is stored for this host'
      : null;
  }
  const shown = `the client certificate (the one stored for ${shownFor})`;
  if (alert === certificateRequired) {
    return `the server did not accept ${shown}: it was not shown, since the server asks for one of other authorities`;
  }
  if (alert === handshakeFailure) {
    return `the server refused the TLS handshake; it may not accept ${shown}`;
  }
  if (alert !== null) {
    const why = aboutTheCertificate[alert];
    return why === undefined ? null : `the server did not accept ${shown}: ${why}`;
  }
  if (moment === 'later' || !wordless.has(codeOf(error))) return null;
  const when = moment === 'handshake' ? 'during' : 'right after';
  return `the server closed the connection ${when} the TLS handshake; it may not accept ${shown}`;
}
