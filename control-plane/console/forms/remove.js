/** Deleting an entry: it can be undone for a minute. What takes access away is asked for, and done at once. */
/** @import { Form } from '../form-facts.ts' */
import { html, useState } from '../dom.js';
import { send, toProblem } from '../api.js';
import { holdDeletion, useHeldDeletions } from '../held-deletions.js';
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
 * `onHeld` is called when the deletion waits, `onRemoved` when it was tried.
 * @param {{
 *   form: Form,
 *   id: string,
 *   title: unknown,
 *   onHeld?: () => void,
 *   onRemoved?: () => unknown,
 * }} props
 */
export function RemoveButton({ onHeld, onRemoved, ...entry }) {
  const { form, title } = entry;
  const { mayAct } = useMe();
  const path = pathOf(entry);
  const held = useHeldDeletions().find(
    ({ state, paths }) => state !== 'failed' && paths.includes(path),
  );
  if (held !== undefined) {
    return html`<button
      type="button"
      disabled=${held.state !== 'held'}
      aria-label=${`Undo the deletion of ${title}`}
      onClick=${held.undo}
    >
      Undo
    </button>`;
  }
  const remove = () => {
    holdDeletion({
      title: `${form.title} ${title}`,
      paths: [path],
      run: () =>
        send(path, { method: 'DELETE' }).then(
          () => null,
          (error) => wordsOf(toProblem(error)),
        ),
      ...(onRemoved && { onDone: onRemoved }),
    });
    onHeld?.();
  };
  return html`<button
    type="button"
    disabled=${!mayAct(form.role)}
    aria-label=${`Delete ${title}`}
    onClick=${remove}
  >
    Delete
  </button>`;
}

/**
 * @param {{ form: Form, id: string, title: unknown, onRemoved: () => void }} props
 */
export function RevokeButton({ onRemoved, ...entry }) {
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
      aria-label=${`Revoke ${title}`}
      onClick=${() => setAsking(true)}
    >
      Revoke
    </button>
    ${
      isAsking &&
      html`<${Ask}
        title=${`Revoke ${title}?`}
        yes="Revoke"
        onYes=${revoke}
        onNo=${() => setAsking(false)}
        problem=${problem}
      >
        ${form.title}. This cannot be undone.
      <//>`
    }`;
}
