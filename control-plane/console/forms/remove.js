/** Deleting an entry, after asking. */
/** @import { Form } from '../form-facts.ts' */
import { html, useState } from '../dom.js';
import { send, toProblem } from '../api.js';
import { useMe } from '../me.js';
import { Ask } from '../parts/ask.js';
import { wordsOf } from '../parts/notices.js';

/**
 * @param {{ form: Form, id: string, title: unknown, onRemoved: () => void, word?: string }} props
 */
export function RemoveButton({ form, id, title, onRemoved, word = 'Delete' }) {
  const { mayAct } = useMe();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState('');
  const remove = async () => {
    try {
      await send((form.remove ?? '').replace('{id}', encodeURIComponent(id)), { method: 'DELETE' });
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
        onYes=${remove}
        onNo=${() => setAsking(false)}
        problem=${problem}
      >
        ${form.title}. This cannot be undone.
      <//>`
    }`;
}
