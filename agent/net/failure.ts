/** Whether an error of the network is an agent error or a failure of the target, and its message. */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../errors.ts';
import { alertOf, sentenceOfAlert } from './tls-alert.ts';

/**
 * Codes that mean that this machine could not even try. They say nothing about the target:
 *   EMFILE, ENFILE      no descriptor was left
 *   ENOBUFS, ENOMEM     the kernel had no memory for the socket
 *   EADDRNOTAVAIL       no local address or port to connect from
 *   EAFNOSUPPORT        the address family is switched off here
 *   ENETUNREACH, ENETDOWN  this machine has no route, or its interface is down
 *   EACCES, EPERM       a local rule forbids the connection
 *   EINVAL              a local route throws such packets away
 */
const agentErrorCodes = new Set([
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENETUNREACH'],
  ...['ENETDOWN', 'EACCES', 'EPERM', 'EINVAL'],
]);

/** Codes of the above that a distant router can cause as well. */
const saidByRouters = new Set(['ENETUNREACH', 'EACCES']);

/** An agent error when no packet had left: then it comes from a route of this machine. */
const saidByOwnRoute = 'EHOSTUNREACH';

/** Codes for which `onlyOn: NETWORK_ERROR` retries. */
const networkErrors = new Set([
  ...['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'ENOTFOUND', 'ENODATA', 'ESERVFAIL'],
  ...['ETIMEDOUT', 'ETIMEOUT', 'TIMEOUT', 'SOCKET_TIMEOUT', 'CONNECT_TIMEOUT', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'EPIPE', 'SOCKET_CLOSED', 'BODY_INCOMPLETE'],
]);

const sentences: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'a router on the way knows no route',
  EACCES: 'a router on the way forbids it',
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'the name has no address of this family',
  ESERVFAIL: 'the name servers of the name failed',
  ETIMEOUT: 'the name servers of the name do not answer',
  EPIPE: 'the connection was closed while sending',
  SOCKET_CLOSED: 'the connection was closed early',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain ends in an unknown, self-signed certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is signed by an unknown authority',
  TOO_MANY_INTERIM: 'more interim responses (1xx) came than a server has reason to send',
  CHUNK_OVERHEAD: 'the chunks of the body hold far more framing than data',
  ENCODING_BOMB: 'the body decodes to far more encoded data than content',
  HPE_HEADER_OVERFLOW: 'the response headers are too large',
};

/** Stable code of an error: its `code`, or its name. */
export function codeOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code);
  return error instanceof Error ? error.name : 'UNKNOWN';
}

/** Facts about a packet before an error. */
export interface Sent {
  /** A packet had left this machine, so a "no route" error came from a router; absent when unknown. */
  readonly hasLeft?: boolean;
}

/** True when this machine causes the error, not the target. */
export function isAgentErrorCode(code: string, { hasLeft }: Sent = {}): boolean {
  if (code === saidByOwnRoute) return hasLeft === false;
  return agentErrorCodes.has(code) && !(hasLeft === true && saidByRouters.has(code));
}

/** A failure of the target. `subject` is the peer, such as `10.0.0.1:443`. */
export function failureOf(phase: string, code: string, subject: string, detail?: string): Failure {
  const sentence = sentences[code] ?? detail ?? 'the exchange failed';
  return {
    phase,
    code,
    message: `${sentence}: ${subject} (${code})`,
    isNetworkError: networkErrors.has(code) || saidByRouters.has(code),
  };
}

/** Removes source locations from messages of OpenSSL. */
function plain(message: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  return reason === undefined ? message : `TLS failed with "${reason}"`;
}

/** Said where OpenSSL cannot verify the first certificate. */
export const missingIssuer = (issuer: string): string =>
  `the server does not send the certificate of its issuer (${issuer}), or the authority is unknown`;

/** Names the certificate that a server should send and does not, where OpenSSL found no issuer of its own. */
export function withMissingIssuer(failure: Failure, issuer: string | null): Failure {
  const unknown = sentences['UNABLE_TO_VERIFY_LEAF_SIGNATURE'] ?? '';
  if (issuer === null || failure.code !== 'UNABLE_TO_VERIFY_LEAF_SIGNATURE') return failure;
  return { ...failure, message: failure.message.replace(unknown, missingIssuer(issuer)) };
}

/** Says for which hosts a certificate is, or why browsers do not take its name for that of the host. */
function wrongHost(message = ''): string {
  if (message.endsWith('which browsers do not accept')) return message;
  const [, names = ''] = /.*(?:altnames|list): (.+)$/s.exec(message) ?? [];
  const shown = names.replace(/\b(DNS|IP Address):/g, '').slice(0, 200);
  return `the certificate is for another host${shown === '' ? '' : ` (${shown})`}`;
}

/** Turns an error into a failure of the target, or throws an AgentError. */
export function observeError(
  phase: string,
  error: unknown,
  subject: string,
  sent: Sent = {},
): Failure {
  const code = codeOf(error);
  if (isAgentErrorCode(code, sent)) {
    throw new AgentError(
      'NETWORK_UNAVAILABLE',
      `this machine could not reach out to ${subject} (${code}); check its routes, limits and firewall, or run "monitor-agent doctor"`,
      { cause: error },
    );
  }
  const alert = alertOf(error);
  const message = error instanceof Error ? plain(error.message) : undefined;
  const detail = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? wrongHost(message) : message;
  return failureOf(phase, code, subject, alert === null ? detail : sentenceOfAlert(alert));
}

/** A timeout in a phase. */
export function timedOut(
  phase: string,
  subject: string,
  afterMs: number,
  code = 'TIMEOUT',
): Failure {
  return {
    phase,
    code,
    message: `${phase === 'body' ? 'the answer did not end' : 'no answer'} within ${afterMs} ms in phase ${phase}: ${subject} (${code})`,
    isNetworkError: true,
  };
}
