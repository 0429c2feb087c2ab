/** Results that only the holder of a private key can read; `docs/encryption.md` describes the format. */
import { z } from 'zod';

/** Bytes in base64url, without padding. */
const base64Url = (characters: number) =>
  z
    .string()
    .regex(new RegExp(`^[\\w-]{${characters}}$`))
    .meta({ example: 'B'.repeat(characters) });

/** Most recipients of a location. */
export const maxRecipients = 10;

/** A public key in its text form. */
export const resultPublicKey = z
  .string()
  .trim()
  .regex(/^rk1_[\w-]{87}$/, 'must be a public key for results, which begins with rk1_')
  .meta({
    description: 'As `monitor-agent encryption-key` prints it',
    example:
      'rk1_BF3TyVpBn0dxJx408lOt5A5nFXVNh6rx1cDwoWc_jfht_fukf4wdpXGtWZPTb5hWLAaq9aD1vm7XeNXMMMeSpfA',
  });

export const encryptedEnvelope = z
  .object({
    version: z.literal(1),
    accountId: z.string().max(64),
    session: base64Url(22),
    recipients: z
      .array(z.object({ id: base64Url(22), enc: base64Url(87), key: base64Url(64) }))
      .min(1)
      .max(maxRecipients),
    nonce: base64Url(16),
    ciphertext: z
      .string()
      .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'must be base64')
      .meta({ example: 'BBBB' }),
  })
  .meta({ id: 'EncryptedEnvelope' });

/** Null where the content was not encrypted: it is nowhere then, and its metrics remain. */
const envelope = encryptedEnvelope.nullable();

/** The encrypted details with the numbers that analytics read. */
export const encryptedResult = z.looseObject({ envelope }).meta({
  id: 'EncryptedResult',
  description:
    'What the result contains, for its recipients; the numbers of its metrics stand beside. `envelope` is null where the agent did not encrypt it, and what it contained was not stored then',
});

/** What agents send of it. */
export const submittedEncryptedResult = z.object({
  envelope,
  metrics: z.record(z.string(), z.unknown()),
});

/** Name of an encrypted file on the control plane, and what else its declaration may say. */
export const encryptedFileName = /^file-[0-9a-f]{16}$/;
/** The first bytes of an encrypted file. */
export const encryptedFileStart = 'MRF1';
export const encryptedContentType = 'application/octet-stream';
/** In the place of texts that are encrypted. */
export const encryptedText = 'encrypted';
/** In the place of an error, in alerts and lists. */
export const encryptedError = 'encrypted; open the link to read it';
/** The same, where there is nothing to read. */
export const droppedError = 'not stored, since the agent did not encrypt it';
/** In the place of what a certificate says of its owner and its issuer. */
export const hiddenCertificate = {
  issuer: encryptedText,
  subject: encryptedText,
  fingerprint256: '',
};
