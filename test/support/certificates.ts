/** Certificates made at test time: nothing expires in the repository. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const algorithms = {
  ec: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  rsa: {
    ...{ name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048 },
    ...{ publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
  },
  ed25519: { name: 'Ed25519' },
};
export type KeyKind = keyof typeof algorithms;
const algorithm = algorithms.ec;
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
  keyKind?: KeyKind;
  /** Other names it is good for. */
  others?: string[];
  /** The name of who it is for is its alternative name alone. */
  hasNoSubject?: true;
  /** As old ones, without alternative names. */
  hasCommonNameOnly?: true;
}

async function keyPem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return x509.PemConverter.encode(pkcs8, 'PRIVATE KEY');
}

async function makeKeys(kind: KeyKind = 'ec'): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithms[kind], true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
}

function fields({ host, validForDays, others = [], hasCommonNameOnly }: Wish) {
  const now = Date.now();
  const names = [host, ...others].map((value) => ({
    type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const),
    value,
  }));
  return {
    notBefore: new Date(now - 30 * dayMs),
    notAfter: new Date(now + validForDays * dayMs),
    signingAlgorithm: algorithm,
    extensions: hasCommonNameOnly ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  };
}

/** A self-signed certificate for a host. */
export async function selfSigned(wish: Wish): Promise<KeyAndCertificate> {
  const keys = await makeKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...fields(wish),
    name: wish.hasNoSubject ? '' : `CN=${wish.host}`,
    keys: keys as never,
  });
  return { key: await keyPem(keys), cert: certificate.toString('pem') };
}

export interface Authority {
  /** Its certificate in PEM: what a client must trust. */
  cert: string;
  issue(wish: Wish): Promise<KeyAndCertificate>;
  /** An authority below this one; what it issues comes with its certificate behind. */
  intermediate(name: string, validForDays?: number): Promise<Authority>;
}

const authorityFields = (validForDays = 60) => ({
  notBefore: new Date(Date.now() - 60 * dayMs),
  notAfter: new Date(Date.now() + validForDays * dayMs),
  signingAlgorithm: algorithm,
});

function authorityOf(
  name: string,
  cert: string,
  keys: webcrypto.CryptoKeyPair,
  chain: string,
): Authority {
  const signing = { issuer: name, signingKey: keys.privateKey as never };
  return {
    cert,
    async issue(wish) {
      const own = await makeKeys(wish.keyKind);
      const certificate = await x509.X509CertificateGenerator.create({
        ...fields(wish),
        ...signing,
        subject: wish.hasNoSubject ? '' : `CN=${wish.host}`,
        publicKey: own.publicKey as never,
      });
      return { key: await keyPem(own), cert: certificate.toString('pem') + chain };
    },
    async intermediate(below, validForDays) {
      const own = await makeKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        ...authorityFields(validForDays),
        ...signing,
        subject: `CN=${below}`,
        publicKey: own.publicKey as never,
        extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
      });
      const pem = certificate.toString('pem');
      return authorityOf(`CN=${below}`, pem, own, `\n${pem}${chain}`);
    },
  };
}

/** A certificate authority of one's own; expired with negative days. */
export async function makeAuthority(
  name = 'Test authority',
  validForDays = 60,
): Promise<Authority> {
  const keys = await makeKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...authorityFields(validForDays),
    name: `CN=${name}`,
    keys: keys as never,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return authorityOf(`CN=${name}`, authority.toString('pem'), keys, '');
}
