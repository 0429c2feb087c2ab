/** Certificates made at test time: nothing expires in the repository. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;

x509.cryptoProvider.set(webcrypto as never);

export interface KeyAndCertificate {
  key: string;
  cert: string;
}

interface Wish {
  host: string;
  /** Days from now; negative for one that has expired. */
  validForDays: number;
}

async function keyPem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return x509.PemConverter.encode(pkcs8, 'PRIVATE KEY');
}

async function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
}

function fields({ host, validForDays }: Wish) {
  const now = Date.now();
  const type = /^[\d.]+$/.test(host) ? ('ip' as const) : ('dns' as const);
  return {
    notBefore: new Date(now - 30 * dayMs),
    notAfter: new Date(now + validForDays * dayMs),
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type, value: host }])],
  };
}

/** A self-signed certificate for a host. */
export async function selfSigned(wish: Wish): Promise<KeyAndCertificate> {
  const keys = await makeKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...fields(wish),
    name: `CN=${wish.host}`,
    keys: keys as never,
  });
  return { key: await keyPem(keys), cert: certificate.toString('pem') };
}

export interface Authority {
  /** Its certificate in PEM: what a client must trust. */
  cert: string;
  issue(wish: Wish): Promise<KeyAndCertificate>;
}

/** A certificate authority of one's own. */
export async function makeAuthority(): Promise<Authority> {
  const authorityKeys = await makeKeys();
  const name = 'CN=Test authority';
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name,
    notBefore: new Date(Date.now() - 60 * dayMs),
    notAfter: new Date(Date.now() + 60 * dayMs),
    signingAlgorithm: algorithm,
    keys: authorityKeys as never,
    extensions: [new x509.BasicConstraintsExtension(true, 1, true)],
  });
  return {
    cert: authority.toString('pem'),
    async issue(wish) {
      const keys = await makeKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        ...fields(wish),
        subject: `CN=${wish.host}`,
        issuer: name,
        publicKey: keys.publicKey as never,
        signingKey: authorityKeys.privateKey as never,
      });
      return { key: await keyPem(keys), cert: certificate.toString('pem') };
    },
  };
}
