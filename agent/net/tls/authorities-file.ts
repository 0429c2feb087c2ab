/**
 * Parses a file of certificate authorities, such as NODE_EXTRA_CA_CERTS: the readable certificates,
 * and the problems. The caller decides about problems: the agent does not start, runs go on without
 * the file, doctor explains them.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { codeOf } from '../failure.ts';

/** A damaged certificate of a file, counted from 1. */
export interface DamagedCertificate {
  readonly kind: 'damaged' | 'cut-off';
  readonly which: number;
  readonly of: number;
  readonly cause?: unknown;
}

/** Why a file is useless as a whole. */
export type UselessFile =
  | { readonly kind: 'unreadable'; readonly code: string; readonly cause: unknown }
  | { readonly kind: 'empty' | 'der' | 'not-pem' }
  /** PEM blocks of other kinds, such as keys. */
  | { readonly kind: 'no-certificate'; readonly labels: readonly string[] };

export type AuthoritiesProblem = UselessFile | DamagedCertificate;

export interface AuthoritiesFile {
  /** In the order of the file. */
  readonly certificates: readonly X509Certificate[];
  /** Empty for a valid file; else one UselessFile, or one entry per damaged certificate. */
  readonly problems: readonly AuthoritiesProblem[];
}

const beginning = /-----BEGIN ([A-Z0-9 ]+)-----/g;
const certificateLabel = /^(TRUSTED |X509 )?CERTIFICATE$/;

interface Block {
  readonly label: string;
  /** Null when the end marker is missing. */
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

/** Parses the bytes of such a file. */
export function parseAuthorities(bytes: Buffer): AuthoritiesFile {
  const text = bytes.toString('latin1');
  if (text.trim() === '') return useless({ kind: 'empty' });
  const blocks = blocksOf(text);
  // DER begins with a SEQUENCE of a two-byte length.
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

/** True for a problem of one certificate instead of the whole file. */
export function isOfOneCertificate(problem: AuthoritiesProblem): problem is DamagedCertificate {
  return problem.kind === 'damaged' || problem.kind === 'cut-off';
}
