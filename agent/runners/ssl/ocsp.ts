/** What an OCSP answer in a handshake says of the certificate. RFC 6960. It is read, not verified. */
import { child, children, integerText, read, type Element } from './der.ts';

export type OcspStatus = 'good' | 'revoked' | 'unknown';

const statusOfTag: Readonly<Record<number, OcspStatus>> = {
  0x80: 'good',
  0xa1: 'revoked',
  0x82: 'unknown',
};

const generalizedTime = 0x18;

/** The list of answers: what follows the time at which they were made. */
function answersOf(response: Element): Element[] {
  const bytes = child(child(child(response, 1), 0), 1);
  const data = child(read(bytes.content), 0);
  const parts = children(data);
  const madeAt = parts.findIndex(({ tag }) => tag === generalizedTime);
  const answers = parts[madeAt + 1];
  return madeAt === -1 || answers === undefined ? [] : children(answers);
}

/** Its status for a serial number in decimal; null where the answer says nothing of it. */
export function ocspStatusOf(answer: Uint8Array, serialNumber: string): OcspStatus | null {
  try {
    for (const single of answersOf(read(answer))) {
      const serial = children(child(single, 0)).at(-1);
      if (serial === undefined || integerText(serial) !== serialNumber) continue;
      return statusOfTag[child(single, 1).tag] ?? null;
    }
    return null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
