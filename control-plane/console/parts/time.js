/** Instants: in the viewer's zone, UTC in the title, and how long ago. */
import { html, useEffect, useState } from '../dom.js';
import { ago, nothing, shortTime, wholeTime } from '../format.js';

const tickMs = 10_000;
const watchers = new Set();

setInterval(() => {
  if (document.hidden) return;
  for (const watcher of watchers) watcher();
}, tickMs);

/** Draws the caller again every ten seconds: one timer for all of them. */
export function useTick() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watcher = () => redraw((count) => count + 1);
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, []);
}

function titleOf(at) {
  const utc = new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
  return `${wholeTime(at)}\n${utc}`;
}

/** An instant to the second. */
export function Time({ at }) {
  if (at == null) return nothing;
  const iso = new Date(at).toISOString();
  return html`<time datetime=${iso} title=${titleOf(at)}>${shortTime(at)}</time>`;
}

/** How long ago, kept true. */
export function Ago({ at, fallback = nothing }) {
  useTick();
  if (at == null) return fallback;
  return html`<time datetime=${new Date(at).toISOString()} title=${titleOf(at)}>${ago(at)}</time>`;
}
