/** The file of NODE_EXTRA_CA_CERTS: what is in it, or what is wrong with it. */
import { X509Certificate } from 'node:crypto';
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

const block =
  /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

/** Lines `CN=a\nO=b` as `CN=a, O=b`. */
export function oneLine(name: string): string {
  return name.trim().split('\n').toReversed().join(', ');
}

/** What is in the file, or why it is of no use. */
export function readAuthorities(path: string | undefined, machine: Machine): AuthoritiesFile {
  if (path === undefined || path === '') return { kind: 'none' };
  const text = machine.read(path);
  if (text === null) {
    return { kind: machine.stat(path) === null ? 'missing' : 'unreadable', path };
  }
  if (text.trim() === '') return { kind: 'empty', path };
  const blocks = text.match(block) ?? [];
  if (blocks.length === 0) return { kind: 'not-pem', path };
  try {
    const authorities = blocks.map((pem) => {
      const { subject, validTo } = new X509Certificate(pem);
      return { subject: oneLine(subject), validTo: Date.parse(validTo) };
    });
    return { kind: 'read', path, authorities };
  } catch (error) {
    return {
      kind: 'broken',
      path,
      message: error instanceof Error ? error.message : String(error),
    };
  }
}
