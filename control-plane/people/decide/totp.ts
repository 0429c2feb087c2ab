/** Time-based one-time passwords, RFC 6238: SHA-1, 6 digits, steps of 30 seconds, as all apps have them. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const stepMs = 30_000;
const digits = 6;

/** RFC 4648 without padding. */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => alphabet.charAt(parseInt(group.padEnd(5, '0'), 2))).join('');
}

/** The step of an instant. */
export function stepAt(instant: number): number {
  return Math.floor(instant / stepMs);
}

/** What the HMAC of a step is made of. */
export function counterOf(step: number): Uint8Array {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  return new Uint8Array(counter.buffer);
}

/** The code in an HMAC: RFC 4226, 5.3. */
export function codeOf(mac: Uint8Array): string {
  const view = new DataView(mac.buffer, mac.byteOffset, mac.byteLength);
  const offset = view.getUint8(mac.byteLength - 1) & 0x0f;
  const number = (view.getUint32(offset) & 0x7fff_ffff) % 10 ** digits;
  return String(number).padStart(digits, '0');
}

/** Clocks of phones differ by some seconds: the step before and the one after count, too. */
export function stepsAround(instant: number): number[] {
  const step = stepAt(instant);
  return [step, step - 1, step + 1];
}

/** For apps that take a link or a QR code. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}
