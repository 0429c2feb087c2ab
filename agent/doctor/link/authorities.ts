/** The file of NODE_EXTRA_CA_CERTS: what is in it, or what is wrong with it. */
import { authoritiesProblem } from '../../link/extra-authorities.ts';
import { readAuthoritiesFile } from '../../net/tls/authorities-file.ts';
import type { Machine } from '../machine.ts';

export interface Authority {
  subject: string;
  validTo: number;
}

export type AuthoritiesFile =
  | { kind: 'none' }
  | { kind: 'unusable'; path: string; what: string; fix: string }
  | { kind: 'read'; path: string; authorities: Authority[] };

/** What is in the file, or why it is of no use. */
export function readAuthorities(path: string | undefined, machine: Machine): AuthoritiesFile {
  if (path === undefined || path === '') return { kind: 'none' };
  const { certificates, problems } = readAuthoritiesFile(machine.at(path));
  const problem = authoritiesProblem(path, problems);
  if (problem !== null) return { kind: 'unusable', path, ...problem };
  const authorities = certificates.map(({ subject, validTo }) => ({
    // Lines `CN=a\nO=b`.
    subject: subject.trim().split('\n').toReversed().join(', '),
    validTo: Date.parse(validTo),
  }));
  return { kind: 'read', path, authorities };
}
