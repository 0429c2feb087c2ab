/** A certificate as results show it. Names and algorithms are spelt as Go spells them, which clients read. */
import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ShownCertificate } from '@monitor/shared/contract/shown-exchange.ts';
import { child, children, integerText, oidOf, read, tags, textOf, type Element } from './der.ts';

const nameParts: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'SERIALNUMBER',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.17': 'POSTALCODE',
};

const signatureAlgorithms: Readonly<Record<string, string>> = {
  '1.2.840.113549.1.1.2': 'MD2-RSA',
  '1.2.840.113549.1.1.4': 'MD5-RSA',
  '1.2.840.113549.1.1.5': 'SHA1-RSA',
  '1.3.14.3.2.29': 'SHA1-RSA',
  '1.2.840.113549.1.1.11': 'SHA256-RSA',
  '1.2.840.113549.1.1.12': 'SHA384-RSA',
  '1.2.840.113549.1.1.13': 'SHA512-RSA',
  '1.2.840.10040.4.3': 'DSA-SHA1',
  '2.16.840.1.101.3.4.3.2': 'DSA-SHA256',
  '1.2.840.10045.4.1': 'ECDSA-SHA1',
  '1.2.840.10045.4.3.2': 'ECDSA-SHA256',
  '1.2.840.10045.4.3.3': 'ECDSA-SHA384',
  '1.2.840.10045.4.3.4': 'ECDSA-SHA512',
  '1.3.101.112': 'Ed25519',
};
const rsaPss = '1.2.840.113549.1.1.10';
const pssHashes: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'SHA256-RSAPSS',
  '2.16.840.1.101.3.4.2.2': 'SHA384-RSAPSS',
  '2.16.840.1.101.3.4.2.3': 'SHA512-RSAPSS',
};

const keyAlgorithms: Readonly<Record<string, string>> = {
  rsa: 'RSA',
  'rsa-pss': 'RSA',
  ec: 'ECDSA',
  dsa: 'DSA',
  ed25519: 'Ed25519',
  ed448: 'Ed448',
};
const curveBits: Readonly<Record<string, number>> = {
  prime256v1: 256,
  secp256k1: 256,
  secp384r1: 384,
  secp521r1: 521,
};

const extensionIds = {
  subjectAltName: '2.5.29.17',
  tlsFeature: '1.3.6.1.5.5.7.1.24',
  signedTimestamps: '1.3.6.1.4.1.11129.2.4.2',
};

/** `a,b` within a value is written `a\,b`. RFC 2253. */
const escaped = (value: string): string => value.replace(/[,+"\\<>;]/g, (one) => `\\${one}`);

function attributesOf(name: Element): [type: string, value: string][][] {
  return children(name).map((set) =>
    children(set).map((pair) => {
      const [type, value] = [oidOf(child(pair, 0)), textOf(child(pair, 1))];
      return [nameParts[type] ?? type, value];
    }),
  );
}

function nameText(name: Element): string {
  return attributesOf(name)
    .toReversed()
    .map((set) => set.map(([type, value]) => `${type}=${escaped(value)}`).join('+'))
    .join(',');
}

function commonName(name: Element): string {
  return (
    attributesOf(name)
      .flat()
      .find(([type]) => type === 'CN')?.[1] ?? ''
  );
}

/** Names and addresses that a certificate is for; mail addresses and URIs as they are written. */
function alternativeNames(extension: Element | undefined): string[] {
  if (extension === undefined) return [];
  return children(read(extension.content)).flatMap(({ tag, content }) => {
    const bytes = Buffer.from(content);
    if ([0x81, 0x82, 0x86].includes(tag)) return [bytes.toString('latin1')];
    if (tag !== 0x87) return [];
    if (bytes.length === 4) return [bytes.join('.')];
    const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
    const address = groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':');
    return isIP(address) === 6 ? [new URL(`http://[${address}]`).hostname.slice(1, -1)] : [];
  });
}

function signatureAlgorithm(identifier: Element): string {
  const id = oidOf(child(identifier, 0));
  if (id !== rsaPss) return signatureAlgorithms[id] ?? id;
  // Without parameters the hash is SHA-1.
  const parameters = children(identifier)[1];
  const hash = parameters && children(parameters).find(({ tag }) => tag === 0xa0);
  const hashId = hash === undefined ? '' : oidOf(child(child(hash, 0), 0));
  return pssHashes[hashId] ?? 'SHA1-RSAPSS';
}

function keyOf(certificate: X509Certificate): { algorithm: string; bits: number | null } {
  try {
    const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = certificate.publicKey;
    const curve = curveBits[details?.namedCurve ?? ''];
    const fixed = type === 'ed25519' ? 256 : type === 'ed448' ? 456 : undefined;
    return {
      algorithm: keyAlgorithms[type] ?? type,
      bits: details?.modulusLength ?? curve ?? fixed ?? null,
    };
  } catch {
    // OpenSSL reads no keys of this kind.
    return { algorithm: 'unknown', bits: null };
  }
}

/** A certificate that was read whole. */
export interface ReadCertificate {
  facts: ShownCertificate;
  /** RFC 7633: it is only good with an OCSP answer in the handshake. */
  demandsStaple: boolean;
  hasSignedTimestamps: boolean;
}

function fingerprint(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(':', '').toLowerCase();
}

/** Reads a certificate. `issuer` is the certificate that signed it, where that was sent or is known. */
export function readCertificateFacts(
  certificate: X509Certificate,
  issuer: X509Certificate | undefined,
): ReadCertificate {
  const outer = read(certificate.raw);
  const [body, algorithm] = children(outer);
  if (body === undefined || algorithm === undefined) throw new RangeError('no certificate');
  const parts = children(body);
  // The version comes first, except in version 1.
  const from = parts[0]?.tag === 0xa0 ? 1 : 0;
  const [serial, , issuerName, , subjectName] = parts.slice(from);
  if (serial === undefined || issuerName === undefined || subjectName === undefined) {
    throw new RangeError('a certificate without names');
  }
  const wrapper = parts.find(({ tag }) => tag === 0xa3);
  const extensions = new Map(
    (wrapper === undefined ? [] : children(child(wrapper, 0))).flatMap((extension) => {
      const fields = children(extension);
      const [id, value] = [fields[0], fields.at(-1)];
      return id === undefined || value?.tag !== tags.octetString
        ? []
        : [[oidOf(id), value] as const];
    }),
  );
  const feature = extensions.get(extensionIds.tlsFeature);
  const key = keyOf(certificate);
  const isSelfSigned =
    certificate.subject === certificate.issuer && certificate.checkIssued(certificate);
  const signer = isSelfSigned ? certificate : issuer;
  return {
    facts: {
      subject: nameText(subjectName),
      issuer: nameText(issuerName),
      subjectCN: commonName(subjectName),
      issuerCN: commonName(issuerName),
      serialNumber: integerText(serial),
      notBefore: new Date(certificate.validFrom).toISOString(),
      notAfter: new Date(certificate.validTo).toISOString(),
      sans: alternativeNames(extensions.get(extensionIds.subjectAltName)),
      fingerprintSha256: fingerprint(certificate),
      issuerFingerprintSha256: signer === undefined ? '' : fingerprint(signer),
      signatureAlgorithm: signatureAlgorithm(algorithm),
      ...{ keyAlgorithm: key.algorithm, keySizeBits: key.bits },
      selfSigned: isSelfSigned,
      isCA: certificate.ca,
    },
    demandsStaple:
      feature !== undefined &&
      children(read(feature.content)).some((one) => integerText(one) === '5'),
    hasSignedTimestamps: extensions.has(extensionIds.signedTimestamps),
  };
}
