/**
 * NODE_EXTRA_CA_CERTS for programs that Node does not configure: browsers, and programs of runs
 * without access to the file.
 */
import type { X509Certificate } from 'node:crypto';
import tls from 'node:tls';
import {
  isOfOneCertificate,
  readAuthoritiesFile,
  type AuthoritiesFile,
} from './authorities-file.ts';

export interface ExtraAuthorities {
  /** Certificates that are not well known anyway. */
  readonly certificates: readonly X509Certificate[];
  /** Why some or all are unreadable, with advice; else null. */
  readonly problem: string | null;
}

const plain = (pem: string): string => pem.replaceAll(/\s/g, '');

function reasonOf(file: string, { problems }: AuthoritiesFile): string | null {
  const [first] = problems;
  if (first === undefined) return null;
  if (first.kind === 'unreadable') {
    return `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (${first.code}): mount it, and let the user of the agent read it`;
  }
  if (!isOfOneCertificate(first)) {
    return `NODE_EXTRA_CA_CERTS names ${file}, which holds no certificate: it must be PEM, with BEGIN CERTIFICATE`;
  }
  return `${problems.length} of ${first.of} certificates in ${file} (NODE_EXTRA_CA_CERTS) are damaged and left out`;
}

/** Reads the configured file; empty without the setting. Never throws. */
export function readExtraAuthorities(file: string | undefined): ExtraAuthorities {
  if (file === undefined || file === '') return { certificates: [], problem: null };
  const read = readAuthoritiesFile(file);
  const wellKnown = new Set(tls.rootCertificates.map(plain));
  return {
    certificates: read.certificates.filter((one) => !wellKnown.has(plain(one.toString()))),
    problem: reasonOf(file, read),
  };
}
