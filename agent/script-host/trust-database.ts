/**
 * The database of NSS that Chromium reads what its user trusts from, `~/.pki/nssdb/cert9.db`. Chromium
 * has no option and no variable for further authorities, and the tool that writes the database is not
 * in the images; so it is written here. It is a table of PKCS #11 objects: a column for each attribute,
 * named by its number in hexadecimal. Numbers: pkcs11t.h and pkcs11n.h of NSS.
 */
import { createHash, type X509Certificate } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeTemporaryFolder } from '../temporary-folder.ts';

const attributes = {
  class: 'a0',
  token: 'a1',
  private: 'a2',
  label: 'a3',
  value: 'a11',
  certificateType: 'a80',
  issuer: 'a81',
  serialNumber: 'a82',
  subject: 'a101',
  id: 'a102',
  modifiable: 'a170',
  serverAuth: 'ace536358',
  clientAuth: 'ace536359',
  codeSigning: 'ace53635a',
  emailProtection: 'ace53635b',
  stepUpApproved: 'ace536360',
  sha1: 'ace5363b4',
  md5: 'ace5363b5',
} as const;

type Attributes = Partial<Record<keyof typeof attributes, Buffer>>;

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');
const yes = bytes('01');
const no = bytes('00');
const certificateClass = bytes('00000001');
const trustClass = bytes('ce534353');
const x509 = bytes('00000000');
/** It, and what it signs. */
const trustedToSign = bytes('ce534352');
/** It alone. */
const trustedItself = bytes('ce534351');
const notDecided = bytes('ce534353');

/** The element at a place of DER, with its header: where it begins, its content, where it ends. */
function elementAt(der: Buffer, at: number): { content: number; end: number } {
  const first = der.readUInt8(at + 1);
  if (first < 0x80) return { content: at + 2, end: at + 2 + first };
  const size = first & 0x7f;
  const content = at + 2 + size;
  return { content, end: content + der.readUIntBE(at + 2, size) };
}

/** The parts of a certificate that NSS looks for it by, as they are encoded. RFC 5280, 4.1. */
function partsOf(der: Buffer): { serialNumber: Buffer; issuer: Buffer; subject: Buffer } {
  let at = elementAt(der, elementAt(der, 0).content).content;
  const next = (): Buffer => {
    const start = at;
    at = elementAt(der, at).end;
    return der.subarray(start, at);
  };
  let part = next();
  // The version may be left out.
  if (part[0] === 0xa0) part = next();
  const serialNumber = part;
  next();
  const issuer = next();
  next();
  return { serialNumber, issuer, subject: next() };
}

function objectsOf(certificate: X509Certificate): Attributes[] {
  const der = certificate.raw;
  const { serialNumber, issuer, subject } = partsOf(der);
  const sha1 = createHash('sha1').update(der).digest();
  const common = { token: yes, private: no, modifiable: yes, issuer, serialNumber };
  return [
    {
      ...common,
      class: certificateClass,
      certificateType: x509,
      label: Buffer.from(certificate.fingerprint256),
      value: der,
      subject,
      id: sha1,
    },
    {
      ...common,
      class: trustClass,
      serverAuth: certificate.ca ? trustedToSign : trustedItself,
      clientAuth: notDecided,
      codeSigning: notDecided,
      emailProtection: notDecided,
      stepUpApproved: no,
      sha1,
      md5: createHash('md5').update(der).digest(),
    },
  ];
}

/** The bytes of a database in which these certificates are trusted for servers. */
export async function trustDatabase(certificates: readonly X509Certificate[]): Promise<Uint8Array> {
  const folder = await makeTemporaryFolder('trust-');
  try {
    const file = join(folder, 'cert9.db');
    const database = new DatabaseSync(file);
    database.exec(
      `CREATE TABLE nssPublic (id PRIMARY KEY UNIQUE ON CONFLICT ABORT, ${Object.values(attributes).join(', ')})`,
    );
    const unique = new Map(certificates.map((each) => [each.fingerprint256, each]));
    for (const [index, object] of [...unique.values()].flatMap(objectsOf).entries()) {
      const names = Object.keys(object) as (keyof typeof attributes)[];
      const columns = names.map((name) => attributes[name]);
      database
        .prepare(
          `INSERT INTO nssPublic (id, ${columns.join(', ')}) VALUES (?${', ?'.repeat(columns.length)})`,
        )
        .run(index + 1, ...Object.values(object));
    }
    database.close();
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
