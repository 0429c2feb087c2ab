/** Deleting an entry: it can be undone for a minute. What takes access away is asked for, and done at once. */
import type { Form } from '../form-facts.ts';
import { useState } from 'preact/hooks';
import { send } from '../api.ts';
import { toProblem } from '../problem.ts';
import { holdDeletion, undoDeletion, useHeldDeletions } from '../held-deletions.ts';
import { useMe } from '../me.ts';
import { refresh } from '../query.ts';
import { Ask } from '../parts/ask.tsx';
import { wordsOf } from '../parts/notices.tsx';

function pathOf({ form, id }: { form: Form; id: string; title: unknown }) {
  return (form.remove ?? '').replace('{id}', encodeURIComponent(id));
}

/** `onHeld` is called when the entry will be deleted. */
export function RemoveButton({
  onHeld,
  ...entry
}: {
  form: Form;
  id: string;
  title: unknown;
  onHeld?: () => void;
}) {
  const { form, title } = entry;
  const { mayAct } = useMe();
  const [problem, setProblem] = useState('');
  const path = pathOf(entry);
  const held = useHeldDeletions().find((one) => one.path === path && one.problem === null);
  const attempt = (work: () => Promise<unknown>) => async () => {
    setProblem('');
    await work().catch((error) => setProblem(wordsOf(toProblem(error))));
  };
  if (held !== undefined) {
    return (
      <button
        type="button"
        disabled={!mayAct(form.role)}
        aria-label={`Undo the deletion of ${title}`}
        onClick={() => void attempt(() => undoDeletion(held))()}
      >
        Undo
      </button>
    );
  }
  return (
    <>
      <button
        type="button"
        disabled={!mayAct(form.role)}
        aria-label={`Delete ${title}`}
        onClick={() => void attempt(() => holdDeletion(path).then(() => onHeld?.()))()}
      >
        Delete
      </button>
      {problem !== '' && (
        <span class="issue" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}

interface RevokeButtonProps {
  form: Form;
  id: string;
  title: unknown;
  word?: string;
}

export function RevokeButton({ word = 'Revoke', ...entry }: RevokeButtonProps) {
  const { form, title } = entry;
  const { mayAct } = useMe();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState('');
  const revoke = async () => {
    try {
      await send(pathOf(entry), { method: 'DELETE' });
      setAsking(false);
      await refresh();
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
  };
  return (
    <>
      <button
        type="button"
        disabled={!mayAct(form.role)}
        aria-label={`${word} ${title}`}
        onClick={() => setAsking(true)}
      >
        {word}
      </button>
      {isAsking && (
        <Ask
          title={`${word} ${title}?`}
          yes={word}
          onYes={revoke}
          onNo={() => setAsking(false)}
          problem={problem}
        >
          {form.title}. This cannot be undone.
        </Ask>
      )}
    </>
  );
}
