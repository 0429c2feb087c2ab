/** What asking a name server over UDP and over TCP have in common. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';
import type { ReceiveStamps } from '../../native/receive-stamp.ts';
import type { ReadTcpTimes } from '../../native/tcp-times.ts';
import type { DnsAnswer } from './answer.ts';
import type { DnsProtocol } from './registry.ts';
import { codeOf, isAgentErrorCode, type Sent } from '../failure.ts';

export interface NameServer {
  /** The name it was given by, when that is not its address. */
  name?: string;
  /** Its address. */
  host: string;
  port: number;
}

export interface AskOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Monotonic time at which the exchange is over. */
  readonly deadline: number;
  /** What the kernel knows about times; absent for callers that time nothing. */
  readonly kernelTimes?: { readonly tcpTimes: ReadTcpTimes; readonly receiveStamps: ReceiveStamps };
}

export interface Answered {
  answer: DnsAnswer;
  protocol: DnsProtocol;
  /** Monotonic, as it left and as the answer came. */
  sentAt: number;
  receivedAt: number;
  /** Time in which the server may have waited for the agent, in ms. */
  unexplainedMs: number;
}

export interface Unanswered {
  failure: Failure;
}

export type Exchange = Answered | Unanswered;

export function textOf({ host, port }: NameServer): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function malformed(server: NameServer, why: string): Unanswered {
  const message = `the name server ${textOf(server)} gave no valid answer: its message ${why} (MALFORMED_ANSWER)`;
  return { failure: { phase: 'answer', code: 'MALFORMED_ANSWER', message, isNetworkError: false } };
}

export function networkFailure(
  phase: string,
  code: string,
  server: NameServer,
  what: string,
): Unanswered {
  const message = `the name server ${textOf(server)} ${what} (${code})`;
  return { failure: { phase, code, message, isNetworkError: true } };
}

/** An error of a socket as an observation, or as the AgentError it is when this machine caused it. */
export function observe(
  phase: string,
  error: Error,
  server: NameServer,
  sent: Sent,
  over = 'UDP',
): Unanswered | AgentError {
  const code = codeOf(error);
  if (isAgentErrorCode(code, sent)) {
    return new AgentError(
      'NETWORK_UNAVAILABLE',
      `this machine could not reach out to the name server ${textOf(server)} (${code}); check its routes, limits and firewall, or run "monitor-agent doctor"`,
      { cause: error },
    );
  }
  const why = code === 'ECONNREFUSED' ? 'it does not listen' : error.message;
  return networkFailure(phase, code, server, `cannot be asked over ${over}: ${why}`);
}

export interface Conversation<T> {
  /** Ends it; the first outcome counts. */
  end(outcome: T | AgentError): void;
}

/**
 * Runs a conversation until its first outcome, its cancellation included. `begin` starts it and gives
 * what closes it.
 */
export function converse<T extends object>(
  signal: AbortSignal,
  begin: (conversation: Conversation<T>) => () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let close: (() => void) | null = null;
    let isOver = signal.aborted;
    const finish = (): boolean => {
      if (isOver) return false;
      isOver = true;
      signal.removeEventListener('abort', onAbort);
      close?.();
      return true;
    };
    const onAbort = (): void => {
      if (finish()) reject(new Error('the run was cancelled', { cause: signal.reason }));
    };
    if (isOver) {
      reject(new Error('the run was cancelled', { cause: signal.reason }));
      return;
    }
    signal.addEventListener('abort', onAbort);
    close = begin({
      end(outcome) {
        if (!finish()) return;
        if (outcome instanceof AgentError) reject(outcome);
        else resolve(outcome);
      },
    });
    if (isOver) close();
  });
}
