/** The occurrences of a maintenance window: what people do with them, and what would have alerted within. */
import { useState } from 'preact/hooks';
import type { DataAt } from '../contract.ts';
import { call } from '../api.ts';
import { count, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { State } from '../parts/icons.tsx';
import { Action } from '../parts/layout.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import type { Tone } from '../state.ts';

type Occurrence = DataAt<`v1/maintenance-windows/${string}/maintenances`>[number];
type Change = NonNullable<Parameters<typeof changeOf>[1]>;

const tones: Partial<Record<Occurrence['status'], Tone>> = {
  IN_PROGRESS: 'warn',
  VERIFYING: 'warn',
  COMPLETED: 'good',
};
/** What each state offers, and what it is called. */
const offers: Partial<Record<Occurrence['status'], [word: string, busy: string, Change][]>> = {
  SCHEDULED: [['Start now', 'Starting', { status: 'IN_PROGRESS' }]],
  IN_PROGRESS: [
    ['Verify', 'Saving', { status: 'VERIFYING' }],
    ['Complete', 'Completing', { status: 'COMPLETED' }],
  ],
  VERIFYING: [
    ['Back to work', 'Saving', { status: 'IN_PROGRESS' }],
    ['Complete', 'Completing', { status: 'COMPLETED' }],
  ],
};
const extendMs = 30 * 60_000;

const pathOf = ({ id, maintenanceWindowId }: Occurrence) =>
  `v1/maintenance-windows/${String(maintenanceWindowId)}/maintenances/${id}` as const;

function changeOf(
  of: Occurrence,
  body: { status?: 'IN_PROGRESS' | 'VERIFYING' | 'COMPLETED'; endsAt?: string },
) {
  return call(pathOf(of), { method: 'PATCH', body });
}

function Suppressed({ of }: { of: Occurrence }) {
  const read = useQuery(`${pathOf(of)}/suppressed-alerts`);
  return Answer({
    read,
    what: 'Replaying the runs',
    isEmpty: ({ alerting }) => alerting.length === 0,
    empty: <p>Nothing: no run that was looked at would have alerted.</p>,
    children: ({ alerting, runs, isWhole }) => (
      <>
        <p>
          From {count(runs, 'run')}
          {isWhole ? '' : ', not all that there are'}:
        </p>
        <ul>
          {alerting.map(({ checkId, name, alerts, recoveries }) => (
            <li key={checkId}>
              <a href={link('checks', checkId)}>{name}</a> {count(alerts, 'alert')},{' '}
              {recoveries === 1 ? '1 recovery' : `${recoveries} recoveries`}
            </li>
          ))}
        </ul>
      </>
    ),
  });
}

function Update({ of }: { of: Occurrence }) {
  const [problem, attempt] = useAttempt();
  const add = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const said = new FormData(form);
    void attempt(async () => {
      await call(`${pathOf(of)}/updates`, {
        method: 'POST',
        body: {
          description: String(said.get('description')),
          notifySubscribers: said.get('notify') !== null,
        },
      });
      form.reset();
    })();
  };
  return (
    <form class="filters" onSubmit={add}>
      {problem}
      <label class="field grow">
        <span>Update</span>
        <input name="description" required maxLength={5000} />
      </label>
      <label class="check-field">
        <input name="notify" type="checkbox" /> <span>Notify subscribers</span>
      </label>
      <button type="submit">Post</button>
    </form>
  );
}

function Occurrence({ of }: { of: Occurrence }) {
  const { mayWrite } = useMe();
  const [problem, attempt] = useAttempt();
  const [isReplayed, setReplayed] = useState(false);
  const { status, startsAt, endsAt, updates } = of;
  const isOn = status === 'IN_PROGRESS' || status === 'VERIFYING';
  const does = (body: Change) =>
    attempt(async () => {
      await changeOf(of, body);
    });
  // An end that is over is extended from now.
  const later = new Date(Math.max(Date.parse(endsAt), Date.now()) + extendMs).toISOString();
  return (
    <li class="card">
      <div class="card-head">
        <State tone={tones[status] ?? 'quiet'} word={inWords(status)} />
        <span>
          <Time at={startsAt} /> to <Time at={endsAt} />
        </span>
      </div>
      {problem}
      {mayWrite && (
        <div class="actions">
          {offers[status]?.map(([word, busy, body]) => (
            <Action key={word} word={word} busy={busy} run={does(body)} />
          ))}
          {isOn && (
            <Action word="Extend by 30 minutes" busy="Extending" run={does({ endsAt: later })} />
          )}
          {(isOn || status === 'COMPLETED') && !isReplayed && (
            <button type="button" onClick={() => setReplayed(true)}>
              What would have alerted
            </button>
          )}
        </div>
      )}
      {isReplayed && <Suppressed of={of} />}
      {updates.map((one) => (
        <p class="as-typed" key={one.id}>
          <b>{inWords(one.status)}</b> <Time at={one.created_at} />: {one.description}
        </p>
      ))}
      {mayWrite && status !== 'CANCELLED' && <Update of={of} />}
    </li>
  );
}

export function Occurrences({ id }: { id: string }) {
  const read = useQuery(`v1/maintenance-windows/${id}/maintenances`, {
    query: { limit: 10 },
    everyMs: 30_000,
  });
  return (
    <section aria-labelledby="occurrences">
      <h2 id="occurrences">Occurrences</h2>
      {Answer({
        read,
        what: 'Loading occurrences',
        isEmpty: (list) => list.length === 0,
        empty: <Empty title="None" />,
        children: (list) => (
          <ul>
            {list.map((one) => (
              <Occurrence key={one.id} of={one} />
            ))}
          </ul>
        ),
      })}
    </section>
  );
}
