/** Instants in the time zone of the viewer, with UTC in the title and the age. */
import { useEffect, useState } from 'preact/hooks';
import { ago, nothing, shortTime, wholeTime } from '../format.ts';

const tickMs = 10_000;
const watchers = new Set<() => void>();

setInterval(() => {
  if (document.hidden) return;
  for (const watcher of watchers) watcher();
}, tickMs);

/** Renders the caller again every ten seconds; all callers share one timer. */
export function useTick() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = () => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, []);
}

function titleOf(at: number | string) {
  const utc = new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
  return `${wholeTime(at)}\n${utc}`;
}

/** An instant to the second. */
export function Time({ at }: { at: number | string | null | undefined }) {
  if (at == null) return nothing;
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={titleOf(at)}>
      {shortTime(at)}
    </time>
  );
}

/** The age of an instant, kept up to date. */
export function Ago({
  at,
  fallback = nothing,
}: {
  at: number | string | null | undefined;
  fallback?: string;
}) {
  useTick();
  if (at == null) return fallback;
  return (
    <time datetime={new Date(at).toISOString()} title={titleOf(at)}>
      {ago(at)}
    </time>
  );
}
