/** The file of NODE_EXTRA_CA_CERTS: what is in it, or what is wrong with it. */
import {
  isOfOneCertificate,
  readAuthoritiesFile,
  describeDamaged,
  type AuthoritiesProblem,
} from '../../net/tls/authorities-file.ts';
import { severalOf } from '../units.ts';
import type { Machine } from '../machine.ts';

export interface Authority {
  subject: string;
  validTo: number;
}

export type AuthoritiesFile =
  | { kind: 'none' }
  | { kind: 'missing' | 'unreadable' | 'not-pem' | 'empty'; path: string }
  | { kind: 'broken'; path: string; message: string }
  | { kind: 'read'; path: string; authorities: Authority[] };

/** Lines `CN=a\nO=b` as `CN=a, O=b`. */
export function oneLine(name: string): string {
  return name.trim().split('\n').toReversed().join(', ');
}

function unusable(path: string, problems: readonly AuthoritiesProblem[]): AuthoritiesFile {
  const damaged = problems.filter(isOfOneCertificate);
  if (damaged.length > 0)
    return { kind: 'broken', path, message: severalOf(damaged.map(describeDamaged)) };
  const [problem] = problems;
  switch (problem?.kind) {
    case 'unreadable':
      return { kind: /^(ENOENT|ENOTDIR)$/.test(problem.code) ? 'missing' : 'unreadable', path };
    case 'empty':
      return { kind: 'empty', path };
    default:
      return { kind: 'not-pem', path };
  }
}

/** What is in the file, or why it is of no use. */
export function readAuthorities(path: string | undefined, machine: Machine): AuthoritiesFile {
  if (path === undefined || path === '') return { kind: 'none' };
  const { certificates, problems } = readAuthoritiesFile(machine.at(path));
  if (problems.length > 0) return unusable(path, problems);
  const authorities = certificates.map(({ subject, validTo }) => ({
    subject: oneLine(subject),
    validTo: Date.parse(validTo),
  }));
  return { kind: 'read', path, authorities };
}
