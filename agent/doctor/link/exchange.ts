/** What the control plane answers to a check-in: the agent's own way, with an id that is thrown away. */
import { randomUUID } from 'node:crypto';
import { request, type Dispatcher } from 'undici';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  checkIn,
  goodbye,
  protocolVersion,
  type CheckInRequest,
} from '@monitor/shared/contract/agent-protocol.ts';
import { codeOf } from '../../net/failure.ts';
import { version } from '../../version.ts';

const answerWithinMs = 6_000;
const tripWithinMs = 2_000;
/** Long enough to recognise a page, or the reason of a refusal. */
const longestBody = 65_536;

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

/** No key begins so; whoever has no key can still find out whether a control plane answers. */
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
  // A key of several lines, say, cannot even be sent.
  const usable = key !== null && /^[\x21-\x7e]+$/.test(key) ? key : noKey;
  return { authorization: `Bearer ${usable}`, 'content-type': 'application/json' };
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
    const response = await request(baseUrl + checkIn.path, {
      method: checkIn.method,
      dispatcher,
      headers: headersFor(key),
      body: JSON.stringify(bodyOf(agentId, sentAt)),
      signal: AbortSignal.timeout(answerWithinMs),
    });
    const text = await response.body.text();
    const receivedAt = Math.round(clock.now());
    const durationMs = Math.round(clock.monotonic() - began);
    const { statusCode: status, headers } = response;
    const date = Date.parse(String(headers.date ?? ''));
    if (status === checkIn.status) {
      await request(baseUrl + goodbye.path, {
        method: goodbye.method,
        dispatcher,
        headers: headersFor(key),
        body: JSON.stringify({ agentId }),
        signal: AbortSignal.timeout(tripWithinMs),
      })
        .then(({ body }) => body.dump())
        .catch(() => undefined);
    }
    return {
      status,
      contentType: String(headers['content-type'] ?? ''),
      location: headers.location === undefined ? null : String(headers.location),
      serverDate: Number.isNaN(date) ? null : date,
      body: text.slice(0, longestBody),
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

/** The time of one small round trip; null when it was lost. Any answer counts. */
export async function observeRoundTrip(
  baseUrl: string,
  dispatcher: Dispatcher,
  clock: Clock,
): Promise<number | null> {
  const began = clock.monotonic();
  try {
    const { body } = await request(`${baseUrl}/v1/agent/check-in`, {
      method: 'GET',
      dispatcher,
      signal: AbortSignal.timeout(tripWithinMs),
    });
    await body.dump();
    return clock.monotonic() - began;
  } catch {
    return null;
  }
}
