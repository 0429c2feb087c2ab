/**
 * The certificate authority of the gateway. Its key is created with the process, never written to
 * disk, and gone with the process. Only browsers of runs trust it.
 *
 * Certificates are encoded here instead of by a library: there is only one shape, and the libraries
 * have five megabytes.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';

const dayMs = 86_400_000;
/** Containers of one machine share a clock; this covers a clock that was just set back. */
const backdatedMs = 2 * dayMs;
const authorityMs = 10 * 365 * dayMs;
const leafMs = 90 * dayMs;
/** A new certificate is made well before the expiry. */
const renewedAfterMs = 30 * dayMs;
const maxRemembered = 500;

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
const octets = (content: Buffer): Buffer => tagged(0x04, content);
const bits = (content: Buffer): Buffer => tagged(0x03, Buffer.from([0]), content);
const isTrue = tagged(0x01, Buffer.from([0xff]));
/** An object identifier from its bytes. */
const identifier = (hex: string): Buffer => tagged(0x06, Buffer.from(hex, 'hex'));

const ecdsaWithSha256 = sequence(identifier('2a8648ce3d040302'));
const basicConstraints = identifier('551d13');
const subjectAlternativeName = identifier('551d11');

function time(instant: number): Buffer {
  const digits = new Date(instant).toISOString().replace(/[-:T]|\.\d+/g, '');
  // RFC 5280, 4.1.2.5: two digits of the year up to 2049.
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}

function commonName(name: string): Buffer {
  const value = tagged(0x0c, Buffer.from(name.slice(0, 64)));
  return sequence(tagged(0x31, sequence(identifier('550403'), value)));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const [before, after] = [groups(head), groups(tail ?? '')];
  const missing = new Array<string>(8 - before.length - after.length).fill('0');
  const all = [...before, ...missing, ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** The host as WHATWG URLs write it: `::ffff:7f00:1`, never `::ffff:127.0.0.1`. */
function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? tagged(0x82, Buffer.from(host)) : tagged(0x87, addressBytes(host));
}

interface Wish {
  readonly subject: string;
  readonly issuer: string;
  /** Null for the authority itself. */
  readonly host: string | null;
  readonly notBefore: number;
  readonly notAfter: number;
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

function write(wish: Wish, { publicKey, privateKey }: Keys): string {
  const serial = randomBytes(16);
  // Positive and without leading zeros, as RFC 5280 requires.
  serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0);
  const extension =
    wish.host === null
      ? sequence(basicConstraints, isTrue, octets(sequence(isTrue)))
      : sequence(subjectAlternativeName, octets(sequence(alternativeName(wish.host))));
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, serial),
    ecdsaWithSha256,
    commonName(wish.issuer),
    sequence(time(wish.notBefore), time(wish.notAfter)),
    commonName(wish.subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', body, privateKey);
  const encoded = sequence(body, ecdsaWithSha256, bits(signature)).toString('base64');
  const lines = encoded.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

export interface OwnAuthority {
  /** Its certificate in PEM. */
  readonly certificate: string;
  /** SHA-256 of its public key in base64, for the arguments of browsers. */
  readonly fingerprint: string;
  /** The certificate and key for a server name. */
  contextFor(host: string): SecureContext;
}

/** Creates an authority with a new key. `now` gives the time in ms. */
export function makeOwnAuthority(name: string, now: () => number): OwnAuthority {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const madeAt = now();
  const certificate = write(
    {
      ...{ subject: name, issuer: name, host: null },
      notBefore: madeAt - backdatedMs,
      notAfter: madeAt + authorityMs,
    },
    keys,
  );
  const remembered = new Map<string, { context: SecureContext; until: number }>();
  const spki = keys.publicKey.export({ type: 'spki', format: 'der' });
  return {
    certificate,
    fingerprint: createHash('sha256').update(spki).digest('base64'),
    contextFor(host) {
      const at = now();
      const known = remembered.get(host);
      if (known !== undefined && known.until > at) return known.context;
      const leaf = write(
        {
          ...{ subject: host, issuer: name, host },
          notBefore: at - backdatedMs,
          notAfter: at + leafMs,
        },
        keys,
      );
      const context = createSecureContext({ key, cert: leaf + certificate });
      if (remembered.size >= maxRemembered) remembered.clear();
      remembered.set(host, { context, until: at + renewedAfterMs });
      return context;
    },
  };
}
