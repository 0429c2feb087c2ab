/** What the control plane answers to a check-in: the agent's own way, with an id that is thrown away. */
import { createHash, randomUUID } from 'node:crypto';
import { request, type Dispatcher } from 'undici';
import type { Clock } from '@monitor/shared/clock.ts';
import {
  agentArtifactRoutes,
  checkIn,
  goodbye,
  protocolHeader,
  protocolVersion,
  submitResults,
  type CheckInRequest,
} from '@monitor/shared/contract/agent-protocol.ts';
import { keyProblem } from '../../key-problem.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import type { z } from 'zod';
import { ownError, pageIn } from '../../link/control-plane-client.ts';
import { codeOf } from '../../net/failure.ts';
import { version } from '../../version.ts';

const answerWithinMs = 10_000;
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
  /** Something in between has signed the answer. */
  isBetween: boolean;
}

function bodyOf(agentId: string, sentAt: number, waitMs = 0): CheckInRequest {
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
    snapshot: waitMs === 0 ? null : '',
    waitMs,
    clock: { sentAt, offsetMs: null },
  };
}

function innermost(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && at.cause !== undefined) at = at.cause;
  return at;
}

/** Without a key one can still find out whether a control plane answers. */
function headersFor(key: string | null): Record<string, string> {
  return {
    ...(key !== null && keyProblem(key) === null && { authorization: `Bearer ${key}` }),
    'content-type': 'application/json',
    [protocolHeader]: String(protocolVersion),
  };
}

interface Answered {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  text: string;
}

/** The whole answer; given up in time also while it still connects: the signal alone is heard only afterwards. */
async function answerWithin(
  limitMs: number,
  clock: Clock,
  url: string,
  options: NonNullable<Parameters<typeof request<null>>[1]>,
): Promise<Answered> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const controller = new AbortController();
  const cancel = clock.after(limitMs, () => {
    const late = new DOMException('no answer in time', 'TimeoutError');
    controller.abort(late);
    reject(late);
  });
  const answered = async (): Promise<Answered> => {
    const { statusCode, headers, body } = await request(url, {
      ...options,
      signal: controller.signal,
    });
    return { status: statusCode, headers, text: (await body.text()).slice(0, maxBodyLength) };
  };
  const answer = answered();
  answer.catch(() => undefined);
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    cancel();
  }
}

function problemOf(error: unknown): { code: string; message: string } {
  const cause = innermost(error);
  const message = cause instanceof Error ? cause.message : String(cause);
  const isTimeout = cause instanceof Error && cause.name === 'TimeoutError';
  return { code: isTimeout ? 'TIMEOUT' : codeOf(cause), message };
}

/** The JSON of an answer; null where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What became of one kind of call. */
export interface CallFacts {
  what: string;
  status: number | null;
  /** The control plane itself answered: it took the call, or refused it in its own words as it should. */
  isOwn: boolean;
  /** The beginning of any other answer, or a code. */
  said: string;
  durationMs: number;
  /** How long it was to wait; null where it was not. */
  heldMs: number | null;
}

export interface CallOptions {
  key: string | null;
  dispatcher: Dispatcher;
  clock: Clock;
  /** How long a poll waits; null leaves it out. */
  holdMs: number | null;
  /** How long names take here. */
  namesMs?: number;
}

/** A poll that waits, a batch of no results, and a file of no bytes that belongs to no result. Never rejects. */
export async function observeCalls(
  baseUrl: string,
  { key, dispatcher, clock, holdMs, namesMs = 0 }: CallOptions,
): Promise<CallFacts[]> {
  const agentId = randomUUID();
  const observe = async (
    what: string,
    {
      method,
      path,
      status: taken,
      response,
    }: Pick<Route, 'method' | 'path' | 'status'> & { response?: z.ZodType },
    body: string,
    {
      headers = {},
      refusal = 0,
      heldMs = null,
    }: {
      headers?: Record<string, string>;
      /** The status by which the control plane itself says that there is nothing of the kind. */
      refusal?: number;
      heldMs?: number | null;
    },
  ): Promise<CallFacts> => {
    const began = clock.monotonic();
    const facts = { what, heldMs, isOwn: false };
    const elapsed = (): number => Math.round(clock.monotonic() - began);
    try {
      const limitMs = namesMs + (heldMs ?? 0) + answerWithinMs;
      const { status, text } = await answerWithin(limitMs, clock, baseUrl + path, {
        ...{ method: method as 'POST' | 'PUT', dispatcher, body },
        headers: { ...headersFor(key), ...headers },
      });
      const durationMs = elapsed();
      const isTaken =
        status === taken && (response === undefined || response.safeParse(parsed(text)).success);
      const isOwn = isTaken || (status === refusal && ownError(status, text) !== null);
      return { ...facts, status, isOwn, said: pageIn(text), durationMs };
    } catch (error) {
      return { ...facts, status: null, said: problemOf(error).code, durationMs: elapsed() };
    }
  };
  const { path } = agentArtifactRoutes.uploadArtifact;
  const file = path.replace('{resultId}', randomUUID()).replace('{name}', 'doctor.txt');
  const polled = JSON.stringify(bodyOf(agentId, Math.round(clock.now()), holdMs ?? 0));
  return Promise.all([
    ...(holdMs === null ? [] : [observe('a poll that waits', checkIn, polled, { heldMs: holdMs })]),
    // compatibility: control planes before 7.1 refuse a batch of none.
    observe('results', submitResults, JSON.stringify({ agentId, items: [] }), { refusal: 400 }),
    observe('files', { ...agentArtifactRoutes.uploadArtifact, path: file }, '', {
      refusal: 404,
      headers: {
        'content-type': 'application/octet-stream',
        digest: `sha-256=${createHash('sha256').digest('base64')}`,
      },
    }),
  ]);
}

/** Checks in once without taking work, and says goodbye again. Never rejects. */
export async function observeCheckIn(
  baseUrl: string,
  key: string | null,
  dispatcher: Dispatcher,
  clock: Clock,
  namesMs = 0,
): Promise<CheckInFacts> {
  const agentId = randomUUID();
  const checkInUrl = baseUrl + checkIn.path;
  const sentAt = Math.round(clock.now());
  const began = clock.monotonic();
  const facts = {
    ...{ contentType: '', location: null, serverDate: null, body: '', sentAt },
    isBetween: false,
  };
  try {
    const { status, headers, text } = await answerWithin(
      namesMs + answerWithinMs,
      clock,
      checkInUrl,
      {
        method: checkIn.method,
        dispatcher,
        headers: headersFor(key),
        body: JSON.stringify(bodyOf(agentId, sentAt)),
      },
    );
    const receivedAt = Math.round(clock.now());
    const durationMs = Math.round(clock.monotonic() - began);
    const date = Date.parse(String(headers.date ?? ''));
    if (status === checkIn.status) {
      await answerWithin(tripWithinMs, clock, baseUrl + goodbye.path, {
        method: goodbye.method,
        dispatcher,
        headers: headersFor(key),
        body: JSON.stringify({ agentId }),
      }).catch(() => undefined);
    }
    return {
      status,
      isBetween: (headers.via ?? headers.server) !== undefined,
      contentType: String(headers['content-type'] ?? ''),
      location: headers.location === undefined ? null : String(headers.location),
      serverDate: Number.isNaN(date) ? null : date,
      body: text,
      ...{ sentAt, receivedAt, durationMs, problem: null },
    };
  } catch (error) {
    const { code, message } = problemOf(error);
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
  size: 'small' | 'large',
): Promise<number | null> {
  const began = clock.monotonic();
  try {
    await answerWithin(tripWithinMs, clock, baseUrl + checkIn.path, {
      method: 'GET',
      dispatcher,
      headers: size === 'large' ? { 'x-padding': 'x'.repeat(largeBytes) } : {},
    });
    return clock.monotonic() - began;
  } catch (error) {
    const isRefused = size === 'large' && cut.test(codeOf(innermost(error)));
    return isRefused ? clock.monotonic() - began : null;
  }
}
