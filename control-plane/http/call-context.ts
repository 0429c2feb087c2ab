import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import type { UnknownField } from '@monitor/shared/known-fields.ts';
import type { Principal } from './authenticate.ts';

/** The context of a call, besides its parsed input. */
export interface CallContext<P extends Principal = Principal> {
  principal: P;
  /** Arrival of the request in milliseconds since the epoch. */
  receivedAt: number;
  /** Aborted when the client disconnects before the answer. */
  signal: AbortSignal;
  userAgent: string | null;
  /** Of the client, for the audit log. */
  address: string | null;
  /** `Origin` or `Referer`. */
  source: string | null;
  /** Total of a paged list, for `Content-Range`. */
  setTotal(total: number, offset: number, count: number): void;
  /** Sets one of the route's `otherStatuses` instead of its `status`. */
  setStatus(status: number): void;
  /** The body of a route with `bodyStream`. */
  readonly body: Readable;
  /** Size of a JSON body after decompression; 0 without a body. */
  readonly bodyBytes: number;
  readonly headers: IncomingHttpHeaders;
  /** Counts against a further limit, or throws 429. */
  limit(key: string, limit: RateLimit): void;
  /**
   * Of a change with `If-Match`, which was compared before the call: compares once more, or throws 412.
   * A handler that notes a revision before it, and requires that one in its transaction, loses no change
   * that comes between. Null without `If-Match`.
   */
  readonly requireUnchanged: (() => Promise<void>) | null;
  /**
   * Begins something once the call is noted in the audit log. What holds the database for long would
   * hold up the note, and with it the answer.
   */
  afterNote(step: () => void): void;
  /** Fields of the body that are not kept; a handler that parses a part itself adds those of it. */
  readonly ignored: UnknownField[];
}

/** The context of a reading that has no answer of its own. */
export function readingContext<P extends Principal>(
  principal: P,
  receivedAt: number,
): CallContext<P> {
  return {
    principal,
    receivedAt,
    signal: new AbortController().signal,
    userAgent: null,
    address: null,
    source: null,
    setTotal: () => undefined,
    setStatus: () => undefined,
    body: Readable.from([]),
    bodyBytes: 0,
    headers: {},
    limit: () => undefined,
    requireUnchanged: null,
    afterNote: (step) => {
      step();
    },
    ignored: [],
  };
}
