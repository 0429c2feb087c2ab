/** What the control plane answers to a check-in: the agent's own way, with an id that is thrown away. */
import { randomUUID } from 'node:crypto';
import { request, type Dispatcher } from 'undici';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  checkIn,
  goodbye,
  protocolHeader,
  protocolVersion,
  type CheckInRequest,
} from '@monitor/shared/contract/agent-protocol.ts';
import { keyProblem } from '../../key-problem.ts';
import { codeOf } from '../../net/failure.ts';
import { version } from '../../version.ts';

const answerWithinMs = 6_000;
const tripWithinMs = 2_000;
/** Fills some packets, and is less than servers and proxies take as headers. */
const largeBytes = 4_000;
/** Long enough to recognise a page, or the reason of a refusal. */
const maxBodyLength = 65_536;

export interface CheckInFacts {
  /** Null where no answer came. */
  status: number | null;
  contentType: string;
  /** Where a redirect leads to. */
  location: string | null;
  /** The `Date` header in milliseconds. */
  serverDate: number | null;
  body: string;
  sentAt: number;
  receivedAt: number;
  durationMs: number;
  /** Code and words of what went wrong without an answer. */
  problem: { code: string; message: string } | null;
}

/** No key begins so; without a key one can still find out whether a control plane answers. */
const noKey = 'pl_none_given_by_doctor';

function bodyOf(agentId: string, sentAt: number): CheckInRequest {
  return {
    agentId,
    protocol: protocolVersion,
    version,
    startedAt: sentAt,
    // Nothing it could be given to do.
    capabilities: {
      checkTypes: [],
      runtimes: [],
      icmp: 'none',
      capture: false,
      traceroute: false,
      browsers: [],
    },
    capacity: { light: 0, heavy: 0 },
    running: 0,
    outbox: { depth: 0, oldestAt: null, droppedTotal: 0 },
    snapshot: null,
    waitMs: 0,
    clock: { sentAt, offsetMs: null },
  };
}

function innermost(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && at.cause !== undefined) at = at.cause;
  return at;
}

function headersFor(key: string | null): Record<string, string> {
  const usable = key !== null && keyProblem(key) === null ? key : noKey;
  return {
    authorization: `Bearer ${usable}`,
    'content-type': 'application/json',
    [protocolHeader]: String(protocolVersion),
  };
}

/** As `request`, given up in time also while it still connects: the signal alone is heard only afterwards. */
async function requestWithin(
  limitMs: number,
  url: string,
  options: NonNullable<Parameters<typeof request<null>>[1]>,
): Promise<Dispatcher.ResponseData> {
  const signal = AbortSignal.timeout(limitMs);
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => {
    reject(signal.reason as Error);
  });
  // Also heard of after the answer.
  tooLate.catch(() => undefined);
  const answer = request(url, { ...options, signal });
  answer.catch(() => undefined);
  return Promise.race([answer, tooLate]);
}

/** Checks in once without taking work, and says goodbye again. Never rejects. */
export async function observeCheckIn(
  baseUrl: string,
  key: string | null,
  dispatcher: Dispatcher,
  clock: Clock,
): Promise<CheckInFacts> {
  const agentId = randomUUID();
  const sentAt = Math.round(clock.now());
  const began = clock.monotonic();
  const facts = { contentType: '', location: null, serverDate: null, body: '', sentAt };
  try {
    const response = await requestWithin(answerWithinMs, baseUrl + checkIn.path, {
      method: checkIn.method,
      dispatcher,
      headers: headersFor(key),
      body: JSON.stringify(bodyOf(agentId, sentAt)),
    });
    const text = await response.body.text();
    const receivedAt = Math.round(clock.now());
    const durationMs = Math.round(clock.monotonic() - began);
    const { statusCode: status, headers } = response;
    const date = Date.parse(String(headers.date ?? ''));
    if (status === checkIn.status) {
      await requestWithin(tripWithinMs, baseUrl + goodbye.path, {
        method: goodbye.method,
        dispatcher,
        headers: headersFor(key),
        body: JSON.stringify({ agentId }),
      })
        .then(({ body }) => body.dump())
        .catch(() => undefined);
    }
    return {
      status,
      contentType: String(headers['content-type'] ?? ''),
      location: headers.location === undefined ? null : String(headers.location),
      serverDate: Number.isNaN(date) ? null : date,
      body: text.slice(0, maxBodyLength),
      ...{ sentAt, receivedAt, durationMs, problem: null },
    };
  } catch (error) {
    const cause = innermost(error);
    const message = cause instanceof Error ? cause.message : String(cause);
    const isTimeout = cause instanceof Error && cause.name === 'TimeoutError';
    const code = isTimeout ? 'TIMEOUT' : codeOf(cause);
    const durationMs = Math.round(clock.monotonic() - began);
    const receivedAt = Math.round(clock.now());
    return { ...facts, status: null, receivedAt, durationMs, problem: { code, message } };
  }
}

/** A program that cuts a connection has seen what came over it; what vanishes on the way is not cut. */
const cut = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/;

/**
 * The time of one round trip; null when it was lost. Any answer counts. A large one fills packets; some
 * servers and firewalls take no such headers, and say so by cutting the connection.
 */
export async function observeRoundTrip(
  baseUrl: string,
  dispatcher: Dispatcher,
  clock: Clock,
  size: 'small' | 'large' = 'small',
): Promise<number | null> {
  const began = clock.monotonic();
  try {
    const { body } = await requestWithin(tripWithinMs, `${baseUrl}/v1/agent/check-in`, {
      method: 'GET',
      dispatcher,
      headers: size === 'large' ? { 'x-padding': 'x'.repeat(largeBytes) } : {},
    });
    await body.dump();
    return clock.monotonic() - began;
  } catch (error) {
    const isRefused = size === 'large' && cut.test(codeOf(innermost(error)));
    return isRefused ? clock.monotonic() - began : null;
  }
}
