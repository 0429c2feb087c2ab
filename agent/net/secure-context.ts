/** What TLS connections trust, and whom they say they are. */
import { createHash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

let shared: SecureContext | undefined;

/**
 * The trust of this process: the well-known authorities and NODE_EXTRA_CA_CERTS. Built once, since
 * building one for each connection costs more than the handshake.
 */
export function defaultSecureContext(): SecureContext {
  shared ??= createSecureContext();
  return shared;
}

/** A certificate to show, in PEM; its authority is trusted besides the well-known ones. */
export interface ClientIdentity {
  readonly cert: string;
  readonly key: string;
  readonly passphrase: string | null;
  readonly ca: string | null;
}

const rememberedIdentities = 100;
const remembered = new Map<string, SecureContext>();

/** The context of a client certificate. Throws what OpenSSL says of a key that does not fit. */
export function secureContextOf({ cert, key, passphrase, ca }: ClientIdentity): SecureContext {
  const id = createHash('sha256')
    .update(JSON.stringify([cert, key, passphrase, ca]))
    .digest('base64');
  const known = remembered.get(id);
  if (known !== undefined) return known;
  const context = createSecureContext({
    cert,
    key,
    ...(passphrase === null ? {} : { passphrase }),
    ...(ca === null ? {} : { ca: [...getCACertificates('default'), ca] }),
  });
  if (remembered.size >= rememberedIdentities) remembered.clear();
  remembered.set(id, context);
  return context;
}
