/** An override of a rotation: from, until and who, for those who do not drag. */
import type { DataAt } from '../contract.ts';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { instantOf, localTime, timeZone } from '../own-zone.ts';
import { useMe } from '../me.ts';
import { Action } from '../parts/layout.tsx';
import { useAttempt } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import type { Change, Override } from '../calendar.ts';

type Policy = DataAt<`v1/escalation-policies/${string}`>;

/** Only administrators may list people; others choose among those that the policy names, and themselves. */
function usePeople({ steps, rotation }: Policy) {
  const { mayAct } = useMe();
  const { data: me } = useQuery('v1/users/me');
  const { data: all = [] } = useQuery(mayAct('ADMIN') ? 'v1/people' : null);
  const named = [
    ...(rotation?.people ?? []),
    ...(rotation?.overrides?.map(({ person }) => person) ?? []),
    ...steps.flatMap(({ people = [] }) => people),
    ...(me?.email == null ? [] : [me.email]),
    ...all.map(({ email }) => email),
  ];
  return [...new Set(named)];
}

export function OverrideDialog({
  draft: { old, next },
  policy,
  change,
  onClose,
}: {
  draft: { old: Override | null; next: Override };
  policy: Policy;
  change: (change: Change) => Promise<void>;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement | null>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const people = usePeople(policy);
  const [from, setFrom] = useState(localTime(next.from));
  const [until, setUntil] = useState(localTime(next.until));
  const [picked, setPicked] = useState(next.person);
  const [problem, attempt] = useAttempt();
  const isSpan = from !== '' && instantOf(from) < instantOf(until);
  const person = picked || (people[0] ?? '');
  const save = (to: Override | null) =>
    attempt(async () => {
      await change({ old, next: to });
      dialog.current?.close();
    });
  const submit = async () => {
    const iso = (text: string) => new Date(instantOf(text)).toISOString();
    await save({ from: iso(from), until: iso(until), person })();
  };
  return (
    <dialog class="ask" ref={dialog} onClose={onClose} aria-labelledby="override-title">
      <h2 id="override-title">{old === null ? 'New override' : 'Override'}</h2>
      <p class="muted">Your time ({timeZone})</p>
      <label class="field block">
        From
        <input
          type="datetime-local"
          value={from}
          onInput={({ currentTarget }) => setFrom(currentTarget.value)}
        />
      </label>
      <label class="field block">
        Until
        <input
          type="datetime-local"
          value={until}
          onInput={({ currentTarget }) => setUntil(currentTarget.value)}
        />
      </label>
      <label class="field block">
        Person
        <select value={person} onChange={({ currentTarget }) => setPicked(currentTarget.value)}>
          {people.map((email) => (
            <option key={email} value={email} selected={email === person}>
              {email}
            </option>
          ))}
        </select>
      </label>
      {!isSpan && (
        <p class="bad" role="alert">
          It must end after it begins.
        </p>
      )}
      {problem}
      <div class="form-end">
        <Action word="Save" busy="Saving" kind="primary" run={submit} disabled={!isSpan} />
        {old !== null && <Action word="Remove" busy="Removing" kind="danger" run={save(null)} />}
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
