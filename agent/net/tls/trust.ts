/**
 * What SSL checks trust and offer, and TCP checks with StartTLS. They trust the authorities of this process
 * and those of the system, and offer old protocols and ciphers too: a server that speaks nothing newer is to
 * be seen, not just refused.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { secureContextOf } from './secure-context.ts';

interface Trust {
  authorities: string[];
  context: SecureContext;
}

const offer = { minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

let known: Trust | undefined;
let fingerprints: ReadonlySet<string> | undefined;

/**
 * Built once. Without further authorities Node shares the store of this process, which costs nothing; with
 * them it reads some hundred certificates, which takes longer than a handshake.
 */
function trust(): Trust {
  if (known === undefined) {
    const own = getCACertificates('default');
    const authorities = [...new Set([...own, ...getCACertificates('system')])];
    const ca = authorities.length > own.length ? { ca: authorities } : {};
    known = { authorities, context: createSecureContext({ ...offer, ...ca }) };
  }
  return known;
}

/** True for a certificate that is one of the trusted authorities itself, or the further one in PEM. */
export function isTrustedAuthority(
  { fingerprint256 }: X509Certificate,
  further: string | null,
): boolean {
  fingerprints ??= new Set(
    trust().authorities.map((pem) => new X509Certificate(pem).fingerprint256),
  );
  const isFurther = () => new X509Certificate(further ?? '').fingerprint256 === fingerprint256;
  return fingerprints.has(fingerprint256) || (further !== null && isFurther());
}

/** With the client certificate of the check, where it shows one. Throws UnusableCertificate. */
export function contextFor(identity: AssignedCertificate | undefined): SecureContext {
  if (identity === undefined) return trust().context;
  // Says what is wrong with it in words that hold nothing of it.
  secureContextOf(identity);
  const { cert, key, passphrase, ca } = identity;
  return createSecureContext({
    ...offer,
    ...{ cert, key, ca: [...trust().authorities, ...(ca === null ? [] : [ca])] },
    ...(passphrase === null ? {} : { passphrase }),
  });
}
