/** The deletions that wait, below every view: what is under the pointer does not move. */
/** @import { Held } from '../held-deletions.js' */
import { html, useEffect, useState } from '../dom.js';
import { useHeldDeletions } from '../held-deletions.js';

/** @param {Held} held */
function wordsOf({ title, state, paths, done, why }) {
  if (state === 'failed') return `Not deleted: ${title}. ${why}`;
  if (state === 'held') return `${title} will be deleted in a minute, if this page stays open.`;
  return `Deleting ${title}${paths.length > 1 ? `, ${done} of ${paths.length}` : ''} …`;
}

/** @param {{ held: Held }} props */
function Row({ held }) {
  const { state, until, undo, go } = held;
  const [, redraw] = useState(0);
  useEffect(() => {
    if (state !== 'held') return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, [state]);
  const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
  return html`<div class=${`notice ${state === 'failed' ? 'failure' : 'warning'}`}>
    <p role="status">${wordsOf(held)}</p>
    <div class="actions">
      ${
        state === 'held' &&
        html`<button type="button" class="primary" onClick=${undo}>Undo</button>
          <button type="button" onClick=${go}>Delete now (${left} s)</button>`
      }
      ${state === 'failed' && html`<button type="button" onClick=${undo}>Close</button>`}
    </div>
  </div>`;
}

export function HeldDeletions() {
  const rows = useHeldDeletions();
  if (rows.length === 0) return null;
  return html`<section class="held" aria-label="Deletions">
    ${rows.map((held) => html`<${Row} key=${held.id} held=${held} />`)}
  </section>`;
}
