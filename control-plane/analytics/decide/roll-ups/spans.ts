/**
 * The spans of a window: the whole window, buckets of one length, or given ranges. Spans do not
 * overlap; results outside of all spans do not count. Instants in ms.
 */
import { bucketStart } from '../analytics.ts';
import type { Window } from '../../../core/decide/results-window.ts';
import { dayMs, hourMs } from './cell.ts';

export interface Span extends Window {
  /** Key of the sum; several spans may share one. */
  key: number;
}

export interface Spans extends Window {
  /** The span that an instant lies in. */
  at(instant: number): Span | null;
  /** True when a span may hold a whole day. */
  holdDays: boolean;
  /** True when so many hours are divided between spans that hourly sums do not help. */
  areFine: boolean;
}

/** The whole window as one span with the key 0. */
export function wholeWindow({ from, to }: Window): Spans {
  const span: Span = { from, to, key: 0 };
  return {
    from,
    to,
    at: (instant) => (instant >= from && instant < to ? span : null),
    holdDays: true,
    areFine: false,
  };
}

/** The parts of a window that lie in the same bucket; the key is the start of the bucket. */
export function buckets({ from, to }: Window, intervalMs: number): Spans {
  return {
    from,
    to,
    at: (instant) => {
      if (instant < from || instant >= to) return null;
      const key = bucketStart(instant, intervalMs);
      return { from: Math.max(from, key), to: Math.min(to, key + intervalMs), key };
    },
    holdDays: intervalMs >= dayMs,
    areFine: intervalMs % hourMs !== 0 && intervalMs < 4 * hourMs,
  };
}

/** Given ranges, in order of time. */
export function listed(spans: readonly Span[]): Spans {
  const from = spans[0]?.from ?? 0;
  const to = spans.at(-1)?.to ?? 0;
  return {
    from,
    to,
    at: (instant) => {
      let low = 0;
      let high = spans.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((spans[middle]?.to ?? 0) <= instant) low = middle + 1;
        else high = middle;
      }
      const span = spans[low];
      return span !== undefined && span.from <= instant ? span : null;
    },
    holdDays: true,
    areFine: false,
  };
}
