/**
 * A file of certificate authorities, as NODE_EXTRA_CA_CERTS names one: the certificates that can be
 * read, and what is wrong with all else. What follows from a problem is up to the caller: the agent
 * does not start with one, runs go without it, doctor explains it.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { codeOf } from '../failure.ts';

/** Why one certificate of a file is of no use. They are counted from 1. */
export interface DamagedCertificate {
  readonly kind: 'damaged' | 'cut-off';
  readonly which: number;
  readonly of: number;
  readonly cause?: unknown;
}

/** Why nothing of a file is of use. */
export type UselessFile =
  | { readonly kind: 'unreadable'; readonly code: string; readonly cause: unknown }
  | { readonly kind: 'empty' | 'der' | 'not-pem' }
  /** PEM of other things, such as keys. */
  | { readonly kind: 'no-certificate'; readonly labels: readonly string[] };

export type AuthoritiesProblem = UselessFile | DamagedCertificate;

export interface AuthoritiesFile {
  /** In the order of the file. */
  readonly certificates: readonly X509Certificate[];
  /** Empty for a file of certificates alone; one of UselessFile, or one per damaged certificate. */
  readonly problems: readonly AuthoritiesProblem[];
}

const beginning = /-----BEGIN ([A-Z0-9 ]+)-----/g;
const certificateLabel = /^(TRUSTED |X509 )?CERTIFICATE$/;

interface Block {
  readonly label: string;
  /** Null without an end before the next one begins. */
  readonly pem: string | null;
}

function blocksOf(text: string): Block[] {
  const starts = [...text.matchAll(beginning)];
  return starts.map(({ index, 1: label = '' }, at) => {
    const part = text.slice(index, starts[at + 1]?.index);
    const end = `-----END ${label}-----`;
    const endsAt = part.indexOf(end);
    return { label, pem: endsAt === -1 ? null : part.slice(0, endsAt + end.length) };
  });
}

function useless(problem: UselessFile): AuthoritiesFile {
  return { certificates: [], problems: [problem] };
}

/** What the bytes of such a file hold. */
export function parseAuthorities(bytes: Buffer): AuthoritiesFile {
  const text = bytes.toString('latin1');
  if (text.trim() === '') return useless({ kind: 'empty' });
  const blocks = blocksOf(text);
  // DER begins with a SEQUENCE of a length in two bytes.
  const isDer = bytes[0] === 0x30 && bytes[1] === 0x82;
  if (blocks.length === 0) return useless({ kind: isDer ? 'der' : 'not-pem' });
  const shown = blocks.filter(({ label }) => certificateLabel.test(label));
  if (shown.length === 0) {
    const labels = [...new Set(blocks.map(({ label }) => label))];
    return useless({ kind: 'no-certificate', labels });
  }
  const certificates: X509Certificate[] = [];
  const problems: DamagedCertificate[] = [];
  for (const [index, { pem }] of shown.entries()) {
    const place = { which: index + 1, of: shown.length };
    if (pem === null) {
      problems.push({ kind: 'cut-off', ...place });
      continue;
    }
    try {
      certificates.push(new X509Certificate(pem));
    } catch (cause) {
      problems.push({ kind: 'damaged', ...place, cause });
    }
  }
  return { certificates, problems };
}

/** Reads a file of authorities. Never throws. */
export function readAuthoritiesFile(path: string): AuthoritiesFile {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    return useless({ kind: 'unreadable', code: codeOf(cause), cause });
  }
  return parseAuthorities(bytes);
}

/** `certificate 2 of 3 cannot be read`. */
export function describeDamaged({ kind, which, of }: DamagedCertificate): string {
  const what = kind === 'cut-off' ? 'has no end' : 'cannot be read';
  return `certificate ${which} of ${of} ${what}`;
}

/** True for what is wrong with one certificate rather than with the file. */
export function isOfOneCertificate(problem: AuthoritiesProblem): problem is DamagedCertificate {
  return problem.kind === 'damaged' || problem.kind === 'cut-off';
}
