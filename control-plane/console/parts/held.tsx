/** The deletions that can be undone, below every view: what is under the pointer does not move. */
import { patiently, send } from '../api.ts';
import { toProblem } from '../problem.ts';
import { useState } from 'preact/hooks';
import { forms } from '../form-facts.ts';
import { undoDeletion, useHeldDeletions, type Held } from '../held-deletions.ts';
import { useMe } from '../me.ts';
import { Action } from './layout.tsx';
import { wordsOf } from './notices.tsx';

/** More than these are one notice. */
const maxSingle = 3;

const isCheck = ({ path }: Held) => path.startsWith('v1/checks/');

function titleOf(held: Held) {
  // One path may be the beginning of another.
  const [form] = Object.values(forms)
    .map(({ title, remove }) => ({ title, path: remove?.split('{')[0] ?? '' }))
    .filter(({ path }) => path !== '' && held.path.startsWith(path))
    .sort((one, other) => other.path.length - one.path.length);
  return `${isCheck(held) ? 'Check' : (form?.title ?? '')} ${held.name}`;
}

function textOf(rows: Held[]) {
  const [first] = rows;
  if (first === undefined) return '';
  const more = rows.length > maxSingle ? ` and ${rows.length - maxSingle} more` : '';
  const titles = rows.slice(0, maxSingle).map(titleOf).join(', ') + more;
  if (first.problem !== null) return `Not deleted: ${titles}. ${first.problem}`;
  if (!rows.every(isCheck)) return `${titles} will be deleted in a minute.`;
  return `Deleted: ${titles}. It can be undone for a minute.`;
}

function Notice({ rows }: { rows: Held[] }) {
  const { mayWrite } = useMe();
  const [problem, setProblem] = useState('');
  const forAll = (work: (held: Held) => Promise<unknown>) => async () => {
    for (const held of rows) {
      try {
        await patiently(() => work(held));
      } catch (error) {
        const found = toProblem(error);
        // The minute is over, or somebody else was faster.
        if (found.status !== 404) setProblem(wordsOf(found));
      }
    }
  };
  const hasFailed = rows.some((row) => row.problem !== null);
  return (
    <div class={`notice ${hasFailed ? 'failure' : 'warning'}`}>
      <p role="status">
        {textOf(rows)} {problem}
      </p>
      <div class="actions">
        <Action
          word={hasFailed ? 'Close' : rows.length > 1 ? 'Undo all' : 'Undo'}
          busy="Working"
          disabled={!mayWrite}
          kind="primary"
          run={forAll(undoDeletion)}
        />
        {!hasFailed && (
          <Action
            word="Delete now"
            busy="Deleting"
            disabled={!mayWrite}
            run={forAll(({ path }) => send(path, { method: 'DELETE' }))}
          />
        )}
      </div>
    </div>
  );
}

export function HeldNotices() {
  const held = useHeldDeletions();
  const open = held.filter(({ problem }) => problem === null);
  const single = held.filter(({ problem }) => problem !== null || open.length <= maxSingle);
  return (
    <section class="held" aria-label="Deletions">
      {open.length > maxSingle && <Notice rows={open} />}
      {single.map((row) => (
        <Notice key={row.id} rows={[row]} />
      ))}
    </section>
  );
}
