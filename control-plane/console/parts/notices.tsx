/** Notices in place of data, or above data that could not be refreshed. */
import type { ComponentChildren } from 'preact';
import type { Read } from '../contract.ts';
import { toProblem, type Problem } from '../problem.ts';
import { useState } from 'preact/hooks';
import { timeOfDay } from '../format.ts';
import { refresh } from '../query.ts';
import { useUnreachableSince } from '../reachable.ts';
import { Icon } from './icons.tsx';

/** Bars in the place of what comes; they appear when it takes longer than an instant. */
export function Loading({ what = 'Loading', rows = 5 }: { what?: string; rows?: number }) {
  return (
    <div class="loading" role="status">
      <span class="sr-only">{what} …</span>
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} />
      ))}
    </div>
  );
}

/** An empty state with advice. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function wordsOf(problem: Pick<Problem, 'status' | 'message'>) {
  switch (problem.status) {
    case 0:
      return 'The control plane cannot be reached. Is it running, and are you online?';
    case 403:
      return `Not allowed: ${problem.message}.`;
    case 404:
      return 'It does not exist or was deleted.';
    case 429:
      return 'Too many requests. Retrying…';
    default:
      return `${problem.message.charAt(0).toUpperCase()}${problem.message.slice(1)}.`;
  }
}

export function Failure({ problem, reload }: { problem: Problem; reload?: () => unknown }) {
  return (
    <div class="notice failure" role="alert">
      <p>
        <Icon tone="bad" /> {wordsOf(problem)}
      </p>
      {reload && (
        <button type="button" onClick={reload}>
          Try again
        </button>
      )}
    </div>
  );
}

/** In the place of data that is not there, or not yet. */
export function Pending({ read, what }: { read: Read<unknown>; what: string }) {
  if (read.problem !== null) return <Failure problem={read.problem} reload={read.reload} />;
  return read.isLoading ? <Loading what={what} /> : null;
}

/** What was refused; nothing without a text. */
export function Refusal({ text }: { text: ComponentChildren }) {
  return (
    !!text && (
      <p class="notice failure" role="alert">
        {text}
      </p>
    )
  );
}

/** Shown above everything while the control plane does not answer. */
export function UnreachableNotice() {
  const since = useUnreachableSince();
  return (
    since !== null && (
      <p class="notice failure unreachable" role="alert">
        <Icon tone="bad" /> The control plane does not answer. Showing data from {timeOfDay(since)}.
        Reconnecting…
      </p>
    )
  );
}

/**
 * Loading, error, empty or data. When a refresh fails, the old data stays below a
 * notice. Called as a function, so that the types of `read` reach the others.
 */
export function Answer<Data>({
  read,
  what,
  empty,
  isEmpty,
  children,
}: {
  read: Read<Data>;
  what: string;
  empty?: ComponentChildren;
  isEmpty: (data: Data) => boolean;
  children: (data: Data) => ComponentChildren;
}) {
  const { data, problem, at, reload } = read;
  if (data === undefined) return <Pending read={read} what={what} />;
  return (
    <>
      {problem !== null && (
        <p class="notice stale" role="status">
          {wordsOf(problem)} Showing data from {timeOfDay(at ?? Date.now())}.{' '}
          <button type="button" class="plain-button" onClick={() => void reload()}>
            Try again
          </button>
        </p>
      )}
      {isEmpty(data) ? empty : children(data)}
    </>
  );
}

/** Runs a call and shows what was refused. */
export function useAttempt(): [
  problem: ComponentChildren,
  attempt: (work: () => Promise<unknown>) => () => Promise<void>,
] {
  const [problem, setProblem] = useState('');
  const attempt = (work: () => Promise<unknown>) => async () => {
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
    await refresh();
  };
  return [<Refusal key="refusal" text={problem} />, attempt];
}
