/** A passkey in software: a key pair on P-256, with no attestation. */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';

/** An item of CBOR: whole numbers, bytes, texts, and maps of pairs. */
type Item = number | Buffer | string | [Item, Item][];

function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  if (value < 256) return Buffer.from([(major << 5) | 24, value]);
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255]);
}

function cbor(item: Item): Buffer {
  if (typeof item === 'number') return item < 0 ? head(1, -1 - item) : head(0, item);
  if (typeof item === 'string') {
    return Buffer.concat([head(3, Buffer.byteLength(item)), Buffer.from(item)]);
  }
  if (Buffer.isBuffer(item)) return Buffer.concat([head(2, item.length), item]);
  return Buffer.concat([head(5, item.length), ...item.flat().map(cbor)]);
}

const bitsOf = { userPresent: 1, userVerified: 4, hasCredential: 64 };

/** What `PublicKeyCredential.toJSON()` gives of a new passkey. */
export function newPasskey(options: {
  rp?: { id?: string };
  challenge?: string;
  origin: string;
}): Record<string, unknown> {
  const { x = '', y = '' } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  }).publicKey.export({ format: 'jwk' });
  const id = randomBytes(16);
  const coseKey = cbor([
    ...([
      [1, 2],
      [3, -7],
      [-1, 1],
    ] as [Item, Item][]),
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ]);
  const authData = Buffer.concat([
    createHash('sha256')
      .update(options.rp?.id ?? '')
      .digest(),
    Buffer.from([bitsOf.userPresent | bitsOf.userVerified | bitsOf.hasCredential]),
    ...[Buffer.alloc(4), Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey],
  ]);
  const clientData = {
    ...{ type: 'webauthn.create', challenge: options.challenge ?? '' },
    ...{ origin: options.origin, crossOrigin: false },
  };
  const encoded = id.toString('base64url');
  return {
    ...{ id: encoded, rawId: encoded, type: 'public-key', clientExtensionResults: {} },
    response: {
      clientDataJSON: Buffer.from(JSON.stringify(clientData)).toString('base64url'),
      attestationObject: cbor([
        ['fmt', 'none'],
        ['attStmt', []],
        ['authData', authData],
      ]).toString('base64url'),
      transports: ['internal'],
    },
  };
}
