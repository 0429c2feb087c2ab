/** One change to all selected checks. Each check is changed by a request of its own. */
/** @import { CheckOverview, DataAt } from '../contract.ts' */
/** @typedef {{ check: CheckOverview, why: string }} Refused */
/** @typedef {(check: CheckOverview) => Promise<unknown>} Act */
/** @typedef {DataAt<`v1/checks/${string}`>} Check */
import { html, useEffect, useRef, useState } from '../dom.js';
import { call, changeNow, patiently, toProblem } from '../api.js';
import { count } from '../format.js';
import { holdDeletion } from '../held-deletions.js';
import { wordsOf } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';

const atOnce = 4;
const maxRefusedShown = 5;
/** Their ids fit into the address of the form. */
const maxOnPage = 50;

const pathOf = (/** @type {CheckOverview} */ { id }) => /** @type {const} */ (`v1/checks/${id}`);

/**
 * Gives the checks that were refused; those that were not begun before the signal are left out.
 * @param {CheckOverview[]} checks
 * @param {Act} act
 * @param {() => void} onDone
 * @param {AbortSignal} signal
 */
async function forEach(checks, act, onDone, signal) {
  const left = [...checks];
  /** @type {Refused[]} */
  const refused = [];
  const work = async () => {
    for (let check = left.shift(); check !== undefined && !signal.aborted; check = left.shift()) {
      const one = check;
      try {
        await patiently(() => act(one), signal);
      } catch (error) {
        refused.push({ check: one, why: wordsOf(toProblem(error)) });
      }
      onDone();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return refused;
}

/**
 * @param {object} change
 * @returns {Act}
 */
const putting = (change) => (check) =>
  call(`v1/checks/${check.id}`, { method: 'PUT', body: { ...change } });

/** @type {(tag: string, isAdded: boolean) => Act} */
const tagging = (tag, isAdded) => (check) =>
  changeNow(pathOf(check), (now) => {
    const tags = now.tags.filter((one) => one !== tag);
    return { tags: isAdded ? [...tags, tag] : tags };
  });

/** @type {Act} */
const removing = (check) => holdDeletion(pathOf(check));

/** @param {{ word: string, amount: number, refused: Refused[] }} props */
function Outcome({ word, amount, refused }) {
  const done = amount - refused.length;
  if (refused.length === 0) return html`${word}: ${count(done, 'check')}.`;
  const shown = refused.slice(0, maxRefusedShown);
  return html`${word}: ${done} of ${amount} checks. Not changed:
    <ul>
      ${shown.map(({ check, why }) => html`<li key=${check.id}>${check.name}: ${why}</li>`)}
      ${refused.length > shown.length && html`<li>and ${refused.length - shown.length} more</li>`}
    </ul>`;
}

/**
 * @typedef {{ kind: 'idle' } | { kind: 'working', word: string, done: number, amount: number }
 *   | { kind: 'done', word: string, amount: number, refused: Refused[] }} Phase
 */

/** @param {{ checks: CheckOverview[], onClear: () => void }} props */
export function BulkBar({ checks, onClear }) {
  const groups = useQuery('v1/check-groups', { query: { limit: 100 } });
  const [phase, setPhase] = useState(/** @type {Phase} */ ({ kind: 'idle' }));
  const tag = useRef(/** @type {HTMLInputElement | null} */ (null));
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);

  const act = async (/** @type {string} */ word, /** @type {Act} */ change) => {
    const amount = checks.length;
    let done = 0;
    const show = () => setPhase({ kind: 'working', word, done, amount });
    show();
    const onDone = () => {
      done += 1;
      show();
    };
    const refused = await forEach(checks, change, onDone, gone.current.signal);
    setPhase({ kind: 'done', word, amount, refused });
    return refused;
  };
  const actTag = (/** @type {boolean} */ isAdded) => {
    const name = tag.current?.value.trim() ?? '';
    if (name === '') tag.current?.focus();
    else void act(`${isAdded ? 'Added' : 'Removed'} the tag ${name}`, tagging(name, isAdded));
  };
  const move = (/** @type {Event & { currentTarget: HTMLSelectElement }} */ event) => {
    const { value, selectedOptions } = event.currentTarget;
    if (value === '') return;
    const name = selectedOptions[0]?.textContent?.trim() ?? '';
    const groupId = value === 'none' ? null : Number(value);
    void act(groupId === null ? 'Taken out of groups' : `Moved to ${name}`, putting({ groupId }));
    event.currentTarget.value = '';
  };

  const newPage = () => {
    location.hash = `${link('new', 'page')}?checks=${checks.map(({ id }) => id).join(',')}`;
  };

  const remove = async () => {
    const refused = await act('Deleted', removing);
    if (refused.length === 0) onClear();
  };

  const isBusy = phase.kind === 'working';
  const button = (/** @type {string} */ word, /** @type {() => unknown} */ run, kind = '') =>
    html`<button type="button" class=${kind} disabled=${isBusy || checks.length === 0} onClick=${run}>
      ${word}
    </button>`;
  /** @type {DataAt<'v1/check-groups'>} */
  const known = groups.data ?? [];
  return html`<section class="bulk" aria-label="Selected checks">
    <div role="status">
      ${
        phase.kind === 'working' &&
        html`<p>
          ${phase.word}: ${phase.done} of ${phase.amount} …
          <progress value=${phase.done} max=${phase.amount} aria-label=${phase.word}></progress>
        </p>`
      }
      ${phase.kind === 'done' && html`<div class="notice"><${Outcome} ...${phase} /></div>`}
    </div>
    <div class="actions">
      <b>${count(checks.length, 'check')} selected</b>
      ${button('Activate', () => act('Activated', putting({ activated: true })))}
      ${button('Deactivate', () => act('Deactivated', putting({ activated: false })))}
      ${button('Mute', () => act('Muted', putting({ muted: true })))}
      ${button('Unmute', () => act('Unmuted', putting({ muted: false })))}
      <input ref=${tag} aria-label="Tag to add or remove" placeholder="Tag" maxlength="100" disabled=${isBusy} />
      ${button('Add tag', () => actTag(true))} ${button('Remove tag', () => actTag(false))}
      <select aria-label="Move to group" disabled=${isBusy || checks.length === 0} onChange=${move}>
        <option value="">Move to group</option>
        <option value="none">No group</option>
        ${known.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
      </select>
      ${checks.length <= maxOnPage && button('New status page', newPage)}
      ${button('Delete', remove, 'danger')}
      <button type="button" class="plain-button" disabled=${isBusy} onClick=${onClear}>
        Select none
      </button>
    </div>
  </section>`;
}
