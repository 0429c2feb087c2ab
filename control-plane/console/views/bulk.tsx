/** One change to all selected checks. Each check is changed by a request of its own. */
import type { DataAt } from '../contract.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, changeNow } from '../api.ts';
import { forEach, type Refused } from '../each.ts';
import { count } from '../format.ts';
import { holdDeletion } from '../held-deletions.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

export interface Picked {
  id: string;
  name: string;
}

type Act = (check: Picked) => Promise<unknown>;

const maxRefusedShown = 5;
/** Their ids fit into the address of the form. */
const maxOnPage = 50;

const pathOf = ({ id }: Picked) => `v1/checks/${id}` as const;

const putting =
  (change: object): Act =>
  (check) =>
    call(`v1/checks/${check.id}`, { method: 'PUT', body: { ...change } });

const tagging: (tag: string, isAdded: boolean) => Act = (tag, isAdded) => (check) =>
  changeNow(pathOf(check), (now) => {
    const tags = now.tags.filter((one) => one !== tag);
    return { tags: isAdded ? [...tags, tag] : tags };
  });

const removing: Act = (check) => holdDeletion(pathOf(check));

function Outcome({
  word,
  amount,
  refused,
}: {
  word: string;
  amount: number;
  refused: Refused<Picked>[];
}) {
  const done = amount - refused.length;
  if (refused.length === 0)
    return (
      <>
        {word}: {count(done, 'monitor')}.
      </>
    );
  const shown = refused.slice(0, maxRefusedShown);
  return (
    <>
      {word}: {done} of {amount} monitors. Not changed:
      <ul>
        {shown.map(({ item: { id, name }, why }) => (
          <li key={id}>
            {name}: {why}
          </li>
        ))}
        {refused.length > shown.length && <li>and {refused.length - shown.length} more</li>}
      </ul>
    </>
  );
}

type Phase =
  | { kind: 'idle' }
  | { kind: 'working'; word: string; done: number; amount: number }
  | { kind: 'done'; word: string; amount: number; refused: Refused<Picked>[] };

export function BulkBar({
  checks,
  onKeep,
}: {
  checks: Picked[];
  onKeep: (checks: Picked[]) => void;
}) {
  const groups = useQuery('v1/check-groups', { query: { limit: 100 } });
  const [phase, setPhase] = useState<Phase>({ kind: 'idle' });
  const tag = useRef<HTMLInputElement | null>(null);
  const gone = useRef(new AbortController());
  useEffect(() => () => gone.current.abort(), []);

  const act = async (word: string, change: Act) => {
    const amount = checks.length;
    let done = 0;
    const show = () => setPhase({ kind: 'working', word, done, amount });
    show();
    const onDone = () => {
      done += 1;
      show();
    };
    const refused = await forEach(checks, change, { onDone, signal: gone.current.signal });
    setPhase({ kind: 'done', word, amount, refused });
    return refused;
  };
  const actTag = (isAdded: boolean) => {
    const name = tag.current?.value.trim() ?? '';
    if (name === '') tag.current?.focus();
    else void act(`${isAdded ? 'Added' : 'Removed'} tag ${name}`, tagging(name, isAdded));
  };
  const move = (event: Event & { currentTarget: HTMLSelectElement }) => {
    const { value, selectedOptions } = event.currentTarget;
    if (value === '') return;
    const name = selectedOptions[0]?.textContent?.trim() ?? '';
    const groupId = value === 'none' ? null : Number(value);
    void act(groupId === null ? 'Removed from groups' : `Moved to ${name}`, putting({ groupId }));
    event.currentTarget.value = '';
  };

  const newPage = () => {
    location.hash = `${link('new', 'page')}?checks=${checks.map(({ id }) => id).join(',')}`;
  };

  const remove = async () => {
    const refused = await act('Deleted', removing);
    onKeep(refused.map(({ item }) => item));
  };

  const isBusy = phase.kind === 'working';
  const button = (word: string, run: () => unknown, kind = '') => (
    <button type="button" class={kind} disabled={isBusy || checks.length === 0} onClick={run}>
      {word}
    </button>
  );
  const known: DataAt<'v1/check-groups'> = groups.data ?? [];
  return (
    <section class="bulk" aria-label="Selected monitors">
      <div role="status">
        {phase.kind === 'working' && (
          <p>
            {phase.word}: {phase.done} of {phase.amount} …
            <progress value={phase.done} max={phase.amount} aria-label={phase.word} />
          </p>
        )}
        {phase.kind === 'done' && (
          <div class="notice">
            <Outcome {...phase} />
          </div>
        )}
      </div>
      <div class="actions">
        <b>{count(checks.length, 'monitor')} selected</b>
        {button('Activate', () => act('Activated', putting({ activated: true })))}
        {button('Deactivate', () => act('Deactivated', putting({ activated: false })))}
        {button('Mute', () => act('Muted', putting({ muted: true })))}
        {button('Unmute', () => act('Unmuted', putting({ muted: false })))}
        <input
          ref={tag}
          aria-label="Tag to add or remove"
          placeholder="Tag"
          maxlength={100}
          disabled={isBusy}
        />
        {button('Add tag', () => actTag(true))} {button('Remove tag', () => actTag(false))}
        <select aria-label="Move to group" disabled={isBusy || checks.length === 0} onChange={move}>
          <option value="">Move to group</option>
          <option value="none">No group</option>
          {known.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        {checks.length <= maxOnPage && button('New status page', newPage)}
        {button('Delete', remove, 'danger')}
        <button type="button" class="plain-button" disabled={isBusy} onClick={() => onKeep([])}>
          Clear selection
        </button>
      </div>
    </section>
  );
}
