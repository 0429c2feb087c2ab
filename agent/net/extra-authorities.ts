/**
 * NODE_EXTRA_CA_CERTS, read for those that Node does not read it for: browsers, and programs of runs
 * that may not look at the file.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';

export interface ExtraAuthorities {
  /** Those that are not well known anyway. */
  readonly certificates: readonly X509Certificate[];
  /** Why none or not all of them could be read, and what to do; else null. */
  readonly problem: string | null;
}

const block = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]+-----END [A-Z0-9 ]+-----/g;

function plain(pem: string): string {
  return pem.replaceAll(/\s/g, '');
}

/** Reads the file that the setting names; nothing when it names none. Never throws. */
export function readExtraAuthorities(file: string | undefined): ExtraAuthorities {
  if (file === undefined || file === '') return { certificates: [], problem: null };
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return {
      certificates: [],
      problem: `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (${code}): mount it, and let the user of the agent read it`,
    };
  }
  const blocks = text.match(block) ?? [];
  const wellKnown = new Set(rootCertificates.map(plain));
  const certificates: X509Certificate[] = [];
  let damaged = 0;
  for (const pem of blocks) {
    if (wellKnown.has(plain(pem))) continue;
    try {
      certificates.push(new X509Certificate(pem));
    } catch {
      damaged += 1;
    }
  }
  const problem =
    blocks.length === 0
      ? `NODE_EXTRA_CA_CERTS names ${file}, which holds no certificate: it must be PEM, with BEGIN CERTIFICATE`
      : damaged > 0
        ? `${damaged} of ${blocks.length} certificates in ${file} (NODE_EXTRA_CA_CERTS) are damaged and left out`
        : null;
  return { certificates, problem };
}
