/** Alerts that end a TLS connection. RFC 8446, 6. */

const names: Readonly<Record<number, string>> = {
  10: 'unexpected message',
  20: 'bad record',
  40: 'handshake failure',
  42: 'bad certificate',
  43: 'unsupported certificate',
  44: 'certificate revoked',
  45: 'certificate expired',
  46: 'certificate unknown',
  47: 'illegal parameter',
  48: 'unknown certificate authority',
  49: 'access denied',
  50: 'decode error',
  51: 'decrypt error',
  70: 'protocol version not supported',
  71: 'insufficient security',
  80: 'internal error',
  86: 'inappropriate fallback',
  112: 'unrecognized name',
  116: 'certificate required',
  120: 'no application protocol in common, as where it speaks HTTP/2 only and was offered HTTP/1.1',
};

/** The alert number of an error or a failure, or null. OpenSSL has it in the message only. */
export function alertOf(error: unknown): number | null {
  const text = (error as { message?: unknown } | null)?.message;
  const [, number] = /SSL alert number (\d+)/.exec(typeof text === 'string' ? text : '') ?? [];
  return number === undefined ? null : Number(number);
}

/** For example `the server ended the TLS handshake: bad certificate (SSL alert number 42)`. */
export function sentenceOfAlert(number: number): string {
  return `the server ended the TLS handshake: ${names[number] ?? 'for another reason'} (SSL alert number ${number})`;
}
