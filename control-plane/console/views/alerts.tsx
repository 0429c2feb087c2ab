/** All alerts in one list, by cause. */
import { useMemo, useState } from 'preact/hooks';
import { count, inNumbers, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { Choice, Select, Table } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Answer, Empty } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { changeQuery, choosing, link, type Query } from '../router.ts';
import { AlertActions, lasts, type Cause } from './alert-actions.tsx';
import { CauseRow, causeColumns, sentenceOf, stateWords } from './alert-cause.tsx';
import { useChannelNames } from './channels.tsx';

const refreshMs = 20_000;
const dayMs = 86_400_000;
const weekDays = 7;
const rowsAtOnce = 100;
/** More are left out of the answer, the oldest first. */
const maxOutages = 2_000;

const isUndelivered = ({ notified }: Cause) => notified.some(({ failed }) => failed > 0);

const textOf = (cause: Cause) =>
  [
    sentenceOf(cause),
    cause.acknowledgement?.by,
    ...cause.outages.flatMap(({ name, error, tags }) => [name, error, ...tags]),
  ]
    .join(' ')
    .toLowerCase();

function filterOf({ q = '', channel }: Query): (cause: Cause) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return (cause) => {
    const isNotified = ({ alertChannelId: id }: Cause['notified'][number]) =>
      String(id) === channel;
    if (channel && !cause.notified.some(isNotified)) return false;
    const text = words.length === 0 ? '' : textOf(cause);
    return words.every((word) => text.includes(word));
  };
}

const isOfState = ({ state: wanted }: Query) =>
  wanted === 'UNDELIVERED' ? isUndelivered : ({ state }: Cause) => !wanted || state === wanted;

/** Counts per state, which are also filters. */
function States({ causes, query }: { causes: Cause[]; query: Query }) {
  const kinds = { ...stateWords, UNDELIVERED: 'Not delivered' };
  const amounts = Object.entries(kinds).map(
    ([state, word]) => [state, word, causes.filter(isOfState({ state })).length] as const,
  );
  return (
    <div class="summary" role="group" aria-label="States">
      {amounts.map(
        ([state, word, amount]) =>
          (amount > 0 || query.state === state) && (
            <button
              type="button"
              key={state}
              aria-pressed={query.state === state}
              onClick={() => changeQuery({ state: query.state === state ? '' : state })}
            >
              <b>{inNumbers(amount)}</b> {word.toLowerCase()}
            </button>
          ),
      )}
    </div>
  );
}

/** Channels that these alerts went to, where there is a choice. */
function Channels({ all, query }: { all: Cause[]; query: Query }) {
  const nameOf = useChannelNames();
  const notified = new Map(
    all.flatMap((cause) =>
      cause.notified.map(({ alertChannelId: id, type }) => [String(id), type as string] as const),
    ),
  );
  if (notified.size < 2 && !query.channel) return null;
  if (query.channel && !notified.has(query.channel)) notified.set(query.channel, 'channel');
  return (
    <Select
      label="Notified channel"
      options={[
        ['', 'Any'],
        ...[...notified].map(([id, type]): [string, string] => [
          id,
          nameOf(Number(id), `${inWords(type)} ${id}`),
        ]),
      ]}
      value={query.channel ?? ''}
      onChange={choosing('channel')}
    />
  );
}

function Filters({ all, causes, query }: { all: Cause[]; causes: Cause[]; query: Query }) {
  return (
    <>
      <States causes={causes} query={query} />
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="field grow">
          <span>Search</span>
          <input
            type="search"
            value={query.q ?? ''}
            placeholder="Monitor, tag, cause, error, person"
            onInput={(event) => changeQuery({ q: event.currentTarget.value })}
          />
        </label>
        <Channels all={all} query={query} />
      </form>
    </>
  );
}

/** All that lasts, and what is over since a day or a week. */
function Causes({ query }: { query: Query }) {
  const { mayWrite } = useMe();
  const isWeek = query.over === 'week';
  const from = useMemo(
    () => Math.floor((Date.now() - weekDays * dayMs) / 60_000 + 1) * 60,
    [isWeek],
  );
  const read = useQuery('v1/alert-overview', {
    query: isWeek ? { from } : {},
    everyMs: refreshMs,
  });
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [rows, setRows] = useState(rowsAtOnce);
  return Answer({
    read,
    what: 'Loading alerts',
    isEmpty: (causes) => causes.length === 0,
    empty: (
      <Empty title={isWeek ? 'No alerts in the last seven days' : 'No alerts in the last day'}>
        An alert is listed as soon as a monitor fails as often as its settings ask for.
      </Empty>
    ),
    children: (all) => {
      const found = all.filter(filterOf(query));
      const causes = found.filter(isOfState(query));
      const lasting = causes.filter(lasts);
      const chosen = lasting.filter(({ id }) => picked.has(id));
      const areAll = chosen.length > 0 && chosen.length === lasting.length;
      const pick = (id: string) => {
        const next = new Set(picked);
        if (!next.delete(id)) next.add(id);
        setPicked(next);
      };
      return (
        <>
          <Filters all={all} causes={found} query={query} />
          {mayWrite && lasting.length > 0 && (
            <label class="pick-all">
              <input
                type="checkbox"
                checked={areAll}
                onClick={() => setPicked(new Set(areAll ? [] : lasting.map(({ id }) => id)))}
              />{' '}
              Select all {lasting.length} unresolved alerts
            </label>
          )}
          {causes.length === 0 ? (
            <Empty title="No alert matches">
              <a href={link('alerts')}>Show all {inNumbers(all.length)}</a>
            </Empty>
          ) : (
            <Table label="Alerts" columns={causeColumns} className="alerts">
              {causes.slice(0, rows).map((cause) => (
                <CauseRow
                  key={cause.id}
                  cause={cause}
                  picking={
                    mayWrite && lasts(cause)
                      ? { isPicked: picked.has(cause.id), onPick: () => pick(cause.id) }
                      : undefined
                  }
                />
              ))}
            </Table>
          )}
          {all.reduce((sum, { outages }) => sum + outages.length, 0) >= maxOutages && (
            <p class="muted">Only the newest {inNumbers(maxOutages)} outages are listed.</p>
          )}
          {causes.length > rows && (
            <button type="button" class="more" onClick={() => setRows(rows + rowsAtOnce)}>
              Show more of {inNumbers(causes.length)}
            </button>
          )}
          {chosen.length > 0 && (
            <section class="bulk" aria-label="Selected alerts">
              <b>{count(chosen.length, 'alert')} selected</b>
              <AlertActions causes={chosen} about="the selected alerts" />
            </section>
          )}
        </>
      );
    },
  });
}

/** One cause that a message names, of any age. */
function OneCause({ id }: { id: string }) {
  const read = useQuery(`v1/alert-overview/${encodeURIComponent(id)}`, { everyMs: refreshMs });
  return List({
    read,
    label: 'Alerts',
    columns: causeColumns,
    pick: (cause) => [cause],
    row: (cause) => <CauseRow key={cause.id} cause={cause} isOpened />,
    after: () => <a href={link('alerts')}>All alerts</a>,
  });
}

/** The alerts of a check that last. */
export function AlertsOfCheck({ checkId }: { checkId: string }) {
  const read = useQuery('v1/alert-overview', { query: { checkId }, everyMs: refreshMs });
  if (!read.data?.some(lasts)) return null;
  return List({
    read,
    label: 'Open alerts',
    columns: causeColumns,
    pick: (causes) => causes.filter(lasts),
    row: (cause) => <CauseRow key={cause.id} cause={cause} />,
  });
}

export function AlertsView({ query }: { query: Query }) {
  return (
    <>
      <div class="title-line">
        <h1>Alerts</h1>
        {!query.group && (
          <Choice
            label="Resolved alerts"
            options={[
              ['', 'Last day'],
              ['week', 'Seven days'],
            ]}
            value={query.over ?? ''}
            onChange={choosing('over')}
          />
        )}
      </div>
      {query.group ? <OneCause key={query.group} id={query.group} /> : <Causes query={query} />}
    </>
  );
}
