/** The part of a chain that counts: what verifies up to an authority that is trusted here. */
import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';

let bySubject: Map<string, X509Certificate[]> | undefined;

function authoritiesOf(subject: string): X509Certificate[] {
  if (bySubject === undefined) {
    const all = new Set([...getCACertificates('default'), ...getCACertificates('system')]);
    bySubject = Map.groupBy(
      [...all].map((pem) => new X509Certificate(pem)),
      (authority) => authority.subject,
    );
  }
  return bySubject.get(subject) ?? [];
}

function isTrustedHere(certificate: X509Certificate, further: string | null): boolean {
  const also = further === null ? [] : [new X509Certificate(further)];
  return [...also, ...authoritiesOf(certificate.issuer)].some(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  );
}

/**
 * The certificate of a verified chain that expires first. Those behind one whose issuer is trusted here
 * are superfluous, such as an old cross-signature. `further` is another trusted authority in PEM.
 */
export function firstToExpire(
  leaf: X509Certificate,
  issuers: readonly X509Certificate[],
  further: string | null,
): X509Certificate {
  let first = leaf;
  let below = leaf;
  for (const issuer of issuers) {
    // The authorities of this machine are read for an issuer alone that could matter.
    const isEarlier = Date.parse(issuer.validTo) < Date.parse(first.validTo);
    if (issuer.subject === issuer.issuer) break;
    if (isEarlier && isTrustedHere(below, further)) break;
    if (isEarlier) first = issuer;
    below = issuer;
  }
  return first;
}
