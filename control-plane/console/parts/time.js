/** Instants in the time zone of the viewer, with UTC in the title and the age. */
import { html, useEffect, useState } from '../dom.js';
import { ago, nothing, shortTime, wholeTime } from '../format.js';

const tickMs = 10_000;
/** @type {Set<() => void>} */
const watchers = new Set();

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

/** @param {number | string} at */
function titleOf(at) {
  const utc = new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
  return `${wholeTime(at)}\n${utc}`;
}

/**
 * An instant to the second.
 * @param {{ at: number | string | null | undefined }} props
 */
export function Time({ at }) {
  if (at == null) return nothing;
  const iso = new Date(at).toISOString();
  return html`<time datetime=${iso} title=${titleOf(at)}>${shortTime(at)}</time>`;
}

/**
 * The age of an instant, kept up to date.
 * @param {{ at: number | string | null | undefined, fallback?: string }} props
 */
export function Ago({ at, fallback = nothing }) {
  useTick();
  if (at == null) return fallback;
  return html`<time datetime=${new Date(at).toISOString()} title=${titleOf(at)}>${ago(at)}</time>`;
}
