/** The outcome of an attempt to send a notification, and the time of the next one. */
import { hideCredentials } from '../core/hide-credentials.ts';
import { OutgoingError, type OutgoingAnswer, type OutgoingRequest, type Send } from './outgoing.ts';

/** `result` is stored for users. */
export type Attempt =
  | { outcome: 'delivered'; result: string }
  /** `goneBy`: nothing can be sent there any more, and why, for the audit log. */
  | { outcome: 'failed'; result: string; isFinal: boolean; goneBy?: string }
  | { outcome: 'rate-limited'; result: string; retryAfterMs: number | null };

const maxResultBytes = 4_096;
const maxWaitMs = 15 * 60_000;

/** Longest pause between two attempts, whatever `Retry-After` says. */
export const maxPauseMs = 20 * 60_000;

/** The stored result of an attempt: without credentials, at most 4 KiB. */
export function resultText(text: string, credentials: readonly string[], isCut = false): string {
  const bytes = Buffer.from(hideCredentials(text, credentials, isCut).toWellFormed());
  if (bytes.length <= maxResultBytes) return bytes.toString('utf8');
  // The cut may split a character, which is then read as a replacement character.
  return (
    bytes
      .subarray(0, maxResultBytes - 6)
      .toString('utf8')
      .replace(/\uFFFD$/, '') + '…'
  );
}

/** Parses `Retry-After`: seconds or a date. */
export function retryAfter(header: string | string[] | undefined, now: number): number | null {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return null;
  const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? null : Math.max(0, Math.min(ms, maxWaitMs));
}

/** Statuses that no further attempt can change. */
export type FinalStatus = (status: number) => boolean;

/** A client error stays the same. */
const refusalsAreFinal: FinalStatus = (status) =>
  status >= 400 && status < 500 && status !== 408 && status !== 429;

/** Receivers of webhooks may answer anything while they restart, so every status is retried. */
export const nothingIsFinal: FinalStatus = () => false;

/** Whether a body holds a text. A number is a whole one: the `1` of a receiver is none in `HTTP error 413`. */
function holds(body: string, text: string): boolean {
  if (!/^\d|\d$/.test(text)) return body.includes(text);
  const isDigit = (at: number) => /\d/.test(body.charAt(at));
  const [opens, closes] = [/^\d/.test(text), /\d$/.test(text)];
  for (let at = body.indexOf(text); at >= 0; at = body.indexOf(text, at + 1)) {
    if (!(opens && isDigit(at - 1)) && !(closes && isDigit(at + text.length))) return true;
  }
  return false;
}

function judge(
  answer: OutgoingAnswer,
  credentials: readonly string[],
  isFinal: FinalStatus,
  now: number,
  expected: string,
): Attempt {
  const { status, statusText, headers, body, isCut } = answer;
  const first = `HTTP ${status}${statusText === '' ? '' : ` ${statusText}`}`;
  const said = body.trim() === '' ? first : `${first}\n${body.trim()}`;
  const result = resultText(said, credentials, isCut);
  if (status === 429) {
    return {
      outcome: 'rate-limited',
      result,
      retryAfterMs: retryAfter(headers['retry-after'], now),
    };
  }
  if (status >= 400) return { outcome: 'failed', result, isFinal: isFinal(status) };
  if (status >= 300) {
    const reason = 'redirects are not followed: give the address it leads to';
    return { outcome: 'failed', result: resultText(`${first}: ${reason}`, []), isFinal: true };
  }
  if (holds(body, expected)) return { outcome: 'delivered', result };
  const missing = `the answer does not hold the expected "${expected}"${isCut ? ' in its beginning' : ''}`;
  return {
    outcome: 'failed',
    result: resultText(`${missing}: ${said}`, credentials, isCut),
    isFinal: false,
  };
}

export interface HttpAttempt {
  send: Send;
  request: OutgoingRequest;
  /** Values to hide in the result. */
  credentials: readonly string[];
  /** By default a refusal is final. */
  isFinal?: FinalStatus;
  /** A text in the body of the answer without which nothing was delivered; absent for any answer. */
  expected?: string;
  now: number;
  signal: AbortSignal;
}

/** Sends a request and classifies the answer. */
export async function attemptByHttp(attempt: HttpAttempt): Promise<Attempt> {
  const { send, request, credentials, expected = '', now, signal } = attempt;
  const { isFinal = refusalsAreFinal } = attempt;
  try {
    return judge(await send(request, signal), credentials, isFinal, now, expected);
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    const result = resultText(error.message, credentials);
    return { outcome: 'failed', result, isFinal: error.isFinal };
  }
}

/** A final failure before sending, for example because a setting is missing. */
export function cannotBeSent(reason: string): Attempt {
  return { outcome: 'failed', result: reason, isFinal: true };
}

export type Ending = { status: 'SUCCESS' | 'FAILURE' | 'RATE_LIMITED' };
export type Next = Ending | { retryInMs: number };

/** The next step after attempt number `made`, with these pauses between attempts. */
export function afterAttempt(attempt: Attempt, made: number, pausesMs: readonly number[]): Next {
  if (attempt.outcome === 'delivered') return { status: 'SUCCESS' };
  const pause = pausesMs[made - 1];
  if (attempt.outcome === 'failed') {
    return attempt.isFinal || pause === undefined ? { status: 'FAILURE' } : { retryInMs: pause };
  }
  if (pause === undefined) return { status: 'RATE_LIMITED' };
  return { retryInMs: Math.max(pause, attempt.retryAfterMs ?? 0) };
}
