/** State that the connections of one proxy session share. */
import type { Duplex } from 'node:stream';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import type { Target, Way } from './dial.ts';
import type { OwnAuthority } from './own-authority.ts';

export interface SessionContext {
  readonly way: Way;
  /** Timeout for a connection, an answer of the proxy, or a handshake. */
  readonly withinMs: number;
  readonly clientCertificates: readonly AssignedCertificate[];
  readonly trusted: OwnAuthority;
  readonly untrusted: OwnAuthority;
  /** Connections that end with the session. */
  readonly open: Set<Duplex>;
  /** Records why a connection failed. */
  note(error: unknown, target: Target): void;
  say(sentence: string): void;
}
