/** Deleting an entry: it can be undone for a minute. What takes access away is asked for, and done at once. */
/** @import { Form } from '../form-facts.ts' */
import { html, useState } from '../dom.js';
import { send, toProblem } from '../api.js';
import { holdDeletion, undoDeletion, useHeldDeletions } from '../held-deletions.js';
import { useMe } from '../me.js';
import { Ask } from '../parts/ask.js';
import { wordsOf } from '../parts/notices.js';

/**
 * @param {{ form: Form, id: string, title: unknown }} props
 */
function pathOf({ form, id }) {
  return (form.remove ?? '').replace('{id}', encodeURIComponent(id));
}

/**
 * `onHeld` is called when the entry will be deleted.
 * @param {{ form: Form, id: string, title: unknown, onHeld?: () => void }} props
 */
export function RemoveButton({ onHeld, ...entry }) {
  const { form, title } = entry;
  const { mayAct } = useMe();
  const [problem, setProblem] = useState('');
  const path = pathOf(entry);
  const held = useHeldDeletions().find((one) => one.path === path && one.problem === null);
  const attempt = (/** @type {() => Promise<unknown>} */ work) => async () => {
    setProblem('');
    await work().catch((error) => setProblem(wordsOf(toProblem(error))));
  };
  if (held !== undefined) {
    return html`<button
      type="button"
      disabled=${!mayAct(form.role)}
      aria-label=${`Undo the deletion of ${title}`}
      onClick=${attempt(() => undoDeletion(held))}
    >
      Undo
    </button>`;
  }
  return html`<button
      type="button"
      disabled=${!mayAct(form.role)}
      aria-label=${`Delete ${title}`}
      onClick=${attempt(() => holdDeletion(path).then(() => onHeld?.()))}
    >
      Delete
    </button>
    ${problem !== '' && html`<span class="issue" role="alert">${problem}</span>`}`;
}

/**
 * @param {{ form: Form, id: string, title: unknown, word?: string, onRemoved: () => unknown }} props
 */
export function RevokeButton({ onRemoved, word = 'Revoke', ...entry }) {
  const { form, title } = entry;
  const { mayAct } = useMe();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState('');
  const revoke = async () => {
    try {
      await send(pathOf(entry), { method: 'DELETE' });
      setAsking(false);
      onRemoved();
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
  };
  return html`<button
      type="button"
      disabled=${!mayAct(form.role)}
      aria-label=${`${word} ${title}`}
      onClick=${() => setAsking(true)}
    >
      ${word}
    </button>
    ${
      isAsking &&
      html`<${Ask}
        title=${`${word} ${title}?`}
        yes=${word}
        onYes=${revoke}
        onNo=${() => setAsking(false)}
        problem=${problem}
      >
        ${form.title}. This cannot be undone.
      <//>`
    }`;
}
