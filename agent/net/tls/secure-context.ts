/** Trust and client identity of TLS connections. */
import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { codeOf } from '../failure.ts';

let shared: SecureContext | undefined;

/**
 * The trust of this process: well-known authorities and NODE_EXTRA_CA_CERTS. Built once, because
 * building it costs more than a handshake.
 */
export function defaultSecureContext(): SecureContext {
  shared ??= createSecureContext();
  return shared;
}

/** After the authorities of this process were changed. */
export function forgetTrust(): void {
  shared = undefined;
  remembered.clear();
}

/** A client certificate in PEM; its authority is trusted in addition to the well-known ones. */
export interface ClientIdentity {
  readonly cert: string;
  readonly key: string;
  readonly passphrase: string | null;
  readonly ca: string | null;
}

const rememberedIdentities = 100;
const remembered = new Map<string, SecureContext>();

/** Why a stored certificate cannot be used; the message contains nothing of it. */
export class UnusableCertificate extends Error {
  readonly code = 'CLIENT_CERTIFICATE_UNUSABLE';
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/MISSING_PASSPHRASE|INTERRUPTED_OR_CANCELLED/, 'its key is encrypted, and it has no passphrase'],
  [/BAD_DECRYPT/, 'its passphrase is wrong'],
  [/MISMATCH/, 'its key belongs to another certificate'],
  [/TOO_SMALL|TOO_WEAK/, 'its key or its signature is too weak for TLS today'],
  [/UNSUPPORTED/, 'its key is damaged, or of a kind or encrypted in a way that is not supported'],
];

function reasonOf(error: unknown, { passphrase }: ClientIdentity): string {
  const code = codeOf(error);
  const [, known] = reasons.find(([pattern]) => pattern.test(code)) ?? [];
  const reason = known ?? `its key or certificate cannot be read (${code})`;
  // One wrong passphrase of some hundred gives a key that looks decrypted.
  const mayBeWrong = passphrase !== null && (known === undefined || /UNSUPPORTED/.test(code));
  return mayBeWrong ? `its passphrase is wrong, or ${reason}` : reason;
}

/** OpenSSL accepts a key of another type than the certificate and then sends neither. */
function requirePair({ cert, key, passphrase }: ClientIdentity): void {
  const privateKey = createPrivateKey({ key, ...(passphrase === null ? {} : { passphrase }) });
  if (new X509Certificate(cert).checkPrivateKey(privateKey)) return;
  throw Object.assign(new Error('not a pair'), { code: 'KEY_MISMATCH' });
}

/** The context with a client certificate. Throws UnusableCertificate. */
export function secureContextOf(identity: ClientIdentity): SecureContext {
  const { cert, key, passphrase, ca } = identity;
  const id = hash('sha256', JSON.stringify([cert, key, passphrase, ca]), 'base64');
  const known = remembered.get(id);
  if (known !== undefined) return known;
  let context: SecureContext;
  try {
    requirePair(identity);
    context = createSecureContext({
      cert,
      key,
      ...(passphrase === null ? {} : { passphrase }),
      ...(ca === null ? {} : { ca: [...getCACertificates('default'), ca] }),
    });
  } catch (error) {
    throw new UnusableCertificate(reasonOf(error, identity));
  }
  if (remembered.size >= rememberedIdentities) remembered.clear();
  remembered.set(id, context);
  return context;
}
