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

/** A self-signed certificate for a host. */
export async function selfSigned({ host, validForDays }: Wish): Promise<KeyAndCertificate> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const now = Date.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${host}`,
    notBefore: new Date(now - 30 * dayMs),
    notAfter: new Date(now + validForDays * dayMs),
    keys: keys as never,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: /^[\d.]+$/.test(host) ? 'ip' : 'dns', value: host },
      ]),
    ],
  });
  return { key: await keyPem(keys), cert: certificate.toString('pem') };
}
