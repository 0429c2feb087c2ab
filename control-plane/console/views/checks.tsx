/** The list of all checks by group, with problems first. */
import type { CheckOverview } from '../contract.ts';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { memo } from '../memo.ts';
import { partIn, ranges, toneOf, watchedMs } from '../analytics.ts';
import { figuresOf, useFigures, type Figures } from '../figures.ts';
import { count, duration, every, inNumbers, nothing, percent, typeName } from '../format.ts';
import { useMe } from '../me.ts';
import { Bars } from '../parts/bars.tsx';
import { Icon, Picture, State } from '../parts/icons.tsx';
import { NewLink, Select, Tags } from '../parts/layout.tsx';
import { late } from '../parts/late.tsx';
import { Answer, Empty } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import { blockRows, useSettled, useWindow } from '../parts/window.ts';
import { useQuery } from '../query.ts';
import { changeQuery, choosing, link, type Query } from '../router.ts';
import {
  areFirstStepsDone,
  forgetView,
  keepJson,
  readJson,
  savedViews,
  saveView,
} from '../saved-views.ts';
import { isPinged, stateOfCheck, states, type State as CheckState } from '../state.ts';

interface Entry {
  check: CheckOverview;
  state: CheckState;
  text: string;
}
/** What comes with every result, for the rows on the screen alone. */
type Latest = Pick<CheckOverview, 'recentRuns' | 'lastRunAt'>;
type Order = (left: Entry, right: Entry) => number;

const BulkBar = late(() => import('./bulk.tsx').then((all) => all.BulkBar));

const FirstSteps = late(() => import('../forms/first-steps.tsx').then((all) => all.FirstSteps));
/** More checks are no beginning. */
const mostAtFirst = 3;

const manyChecks = 300;
/** The server says what changes; this is only in case that a message was lost. */
const wholeEveryMs = 1_800_000;
/** Latest runs of a row. */
const slots = 24;

const names = new Intl.Collator(undefined, { numeric: true });
const byName: Order = (left, right) => names.compare(left.check.name, right.check.name);
/** Missing values are sorted last in both directions. */
const byNumber =
  (valueOf: (entry: Entry) => number | null | undefined): Order =>
  (left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)];
    if (a == null || b == null) return Number(a == null) - Number(b == null);
    return a - b;
  };

const byState = byNumber(({ state }) => states[state].rank);

const orders: Record<string, Order> = {
  state: byState,
  name: byName,
  type: (left, right) => names.compare(left.check.checkType, right.check.checkType),
  lastRun: byNumber(({ check }) =>
    check.lastRunAt === null ? null : -Date.parse(check.lastRunAt),
  ),
  availability: byNumber(({ check }) => figuresOf(check.id)?.availability),
  p95: byNumber(({ check }) => {
    const p95 = figuresOf(check.id)?.p95;
    return p95 == null ? null : -p95;
  }),
};

const ofFigures = new Set(['availability', 'p95']);

const columns: [order: string | null, word: string, className?: string][] = [
  ['state', 'State'],
  ['name', 'Name'],
  ['type', 'Type', 'wide-only'],
  [null, 'Locations', 'wide-only'],
  [null, 'Interval', 'wide-only right'],
  ['lastRun', 'Last run', 'wide-only'],
  [null, 'Recent runs'],
  ['availability', '24 h', 'right'],
  ['p95', 'p95', 'wide-only right'],
];

const entries = new WeakMap<CheckOverview, Entry>();

/**
 * What is shown and searched of a check. It changes with time in no other way than by a new object.
 */
function entryOf(check: CheckOverview): Entry {
  const known = entries.get(check);
  if (known !== undefined) return known;
  const text = [check.name, check.groupName, check.checkType, ...check.tags, ...check.locations]
    .join(' ')
    .toLowerCase();
  const entry = { check, state: stateOfCheck(check), text };
  entries.set(check, entry);
  return entry;
}

function filterOf({ q = '', state: wanted, type, tag }: Query): (entry: Entry) => boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ check, state, text }) =>
    (!wanted || state === wanted) &&
    (!type || check.checkType === type) &&
    (!tag || check.tags.includes(tag)) &&
    words.every((word) => text.includes(word));
}

/** `onPick` is null for roles that may not change checks. */
interface RowFacts {
  check: CheckOverview;
  state: CheckState;
  index: number;
  isPicked: boolean;
  onPick: ((id: string, isRange: boolean) => void) | null;
}
const Row = memo(
  ({
    check,
    state,
    figures,
    latest,
    index,
    isPicked,
    onPick,
  }: RowFacts & { figures: Figures | undefined; latest: Latest | undefined }) => {
    const { word, tone } = states[state];
    const { ms: day } = ranges.last24Hours;
    const places = check.locations.length;
    const watched = watchedMs(check, 'last24Hours');
    return (
      <tr aria-rowindex={index + 2}>
        {onPick && (
          <td class="pick">
            <input
              type="checkbox"
              checked={isPicked}
              aria-label={`Select ${check.name}`}
              onClick={(event) => onPick(check.id, event.shiftKey)}
            />
          </td>
        )}
        <td class="state-cell">
          <State tone={tone} word={word} />
        </td>
        <th scope="row">
          <a href={link('checks', check.id)}>{check.name}</a>
          <span class="under">
            {check.muted && <span class="tag">muted</span>}
            {check.unservedLocations.length > 0 && (
              <span
                class="tag error"
                title={`Without an agent: ${check.unservedLocations.join(', ')}`}
              >
                {count(check.unservedLocations.length, 'location')} without an agent
              </span>
            )}
            <span class="wide-only">
              <Tags tags={check.tags} />
            </span>
            <span class="narrow-only">
              {typeName(check.checkType)}, {every(check)}
            </span>
          </span>
        </th>
        <td class="wide-only">{typeName(check.checkType)}</td>
        <td class="wide-only muted nowrap" title={check.locations.join(', ')}>
          {places > 1 ? count(places, 'location') : (check.locations[0] ?? '')}
        </td>
        <td class="wide-only right">{isPinged(check) ? nothing : every(check)}</td>
        <td class="wide-only nowrap">
          <Ago at={latest?.lastRunAt ?? check.lastRunAt} fallback="not yet" />
        </td>
        <td>{latest && <Bars runs={latest.recentRuns} slots={slots} />}</td>
        <td class={`right ${toneOf(figures?.availability, watched / day)}`}>
          {percent(figures?.availability)}
          {figures?.availability != null && (
            <span class="muted wide-only"> {partIn(watched, 'last24Hours')}</span>
          )}
        </td>
        <td class="wide-only right">{duration(figures?.p95)}</td>
      </tr>
    );
  },
);

function Head({
  order,
  isReversed,
  areAllPicked,
  onPickAll,
}: {
  order: string;
  isReversed: boolean;
  areAllPicked: boolean;
  onPickAll: (() => void) | null;
}) {
  const sort = (column: string) => () => {
    const reverse = order === column && !isReversed;
    changeQuery({ sort: column === 'state' && !reverse ? '' : column + (reverse ? '!' : '') });
  };
  return (
    <thead>
      <tr>
        {onPickAll && (
          <td class="pick">
            <input
              type="checkbox"
              checked={areAllPicked}
              aria-label="Select all matches"
              onClick={onPickAll}
            />
          </td>
        )}
        {columns.map(([column, word, className = '']) => {
          const direction = isReversed ? 'descending' : 'ascending';
          return (
            <th
              key={word}
              scope="col"
              class={className}
              aria-sort={order === column ? direction : undefined}
            >
              {column === null ? (
                word
              ) : (
                <button type="button" class="sort" onClick={sort(column)}>
                  {word}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function Filters({ entries, query }: { entries: Entry[]; query: Query }) {
  const typesPresent = useMemo(
    () => [...new Set(entries.map(({ check }) => check.checkType))].sort(),
    [entries],
  );
  const tagsPresent = useMemo(
    () => [...new Set(entries.flatMap(({ check }) => check.tags))].sort(),
    [entries],
  );
  const search = useRef<HTMLInputElement | null>(null);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/') return;
      if (event.target instanceof Element && event.target.closest('input, select, textarea'))
        return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="field grow">
        <span>Search</span>
        <input
          ref={search}
          type="search"
          value={query.q ?? ''}
          placeholder="Name, tag, location  ( / )"
          onInput={() => changeQuery({ q: search.current?.value ?? '' })}
        />
      </label>
      <Select
        label="Type"
        value={query.type ?? ''}
        options={[['', 'All'], ...typesPresent.map((type) => [type, typeName(type)] as const)]}
        onChange={choosing('type')}
      />
      <Select
        label="Tag"
        value={query.tag ?? ''}
        options={[['', 'All'], ...tagsPresent.map((tag) => [tag, tag] as const)]}
        onChange={choosing('tag')}
      />
    </form>
  );
}

/** Counts per state, which are also filters. */
function Summary({ entries, query }: { entries: Entry[]; query: Query }) {
  const amounts = useMemo(() => Map.groupBy(entries, ({ state }) => states[state]), [entries]);
  const present = Object.entries(states).filter(([, facts]) => amounts.has(facts));
  return (
    <div class="summary" role="group" aria-label="States">
      {present.map(([state, facts]) => {
        const isChosen = query.state === state;
        return (
          <button
            type="button"
            key={state}
            aria-pressed={isChosen}
            onClick={() => changeQuery({ state: isChosen ? '' : state })}
          >
            <Icon tone={facts.tone} />
            <b>{inNumbers(amounts.get(facts)?.length)}</b> {facts.word.toLowerCase()}
          </button>
        );
      })}
    </div>
  );
}

function focusedRow(table: HTMLTableElement | null) {
  const rows = [...(table?.querySelectorAll('tbody tr[aria-rowindex]') ?? [])];
  const row =
    rows.find((one) => one.contains(document.activeElement)) ??
    // Before the first one on the screen.
    rows[rows.findIndex((one) => one.getBoundingClientRect().top >= 0) - 1];
  return row === undefined ? -1 : Number(row.getAttribute('aria-rowindex')) - 2;
}

/**
 * The keys j and k move the focus to the next and the previous check, x selects it. One that is not a
 * row yet takes the focus as soon as it is.
 */
function useRowKeys(
  table: { current: HTMLTableElement | null },
  rows: number,
  reveal: (row: number) => void,
) {
  const wanted = useRef<number | null>(null);
  const focus = () => {
    if (wanted.current === null) return;
    const name = table.current?.querySelector(
      `tr[aria-rowindex="${wanted.current + 2}"] th :is(a, button)`,
    );
    if (!(name instanceof HTMLElement)) return;
    wanted.current = null;
    name.focus({ preventScroll: true });
    name.scrollIntoView({ block: 'nearest' });
  };
  useLayoutEffect(focus);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !['j', 'k', 'x'].includes(key)) return;
      const isTyping =
        target instanceof Element &&
        target.closest('input:not([type=checkbox]), select, textarea, dialog');
      if (isTyping) return;
      event.preventDefault();
      if (key === 'x') {
        const row = document.activeElement?.closest('tr[aria-rowindex]');
        row?.querySelector('.pick input')?.dispatchEvent(new MouseEvent('click'));
        return;
      }
      const from = wanted.current ?? focusedRow(table.current);
      wanted.current = Math.max(0, Math.min(rows - 1, from + (key === 'j' ? 1 : -1)));
      focus();
      if (wanted.current !== null) reveal(wanted.current);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [rows]);
}

interface Group {
  name: string;
  members: Entry[];
}
/** A line of the table: a check, or the group that the next ones are of. */
type Line = { entry: Entry; group?: never } | { group: Group; entry?: never };

const ungrouped = 'No group';

/** Groups in the order of their first checks; none where no check is in one. */
function linesOf(rows: Entry[], folded: ReadonlySet<string>): Line[] {
  const groups = Map.groupBy(rows, ({ check }) => check.groupName ?? ungrouped);
  if (groups.size <= 1 && groups.has(ungrouped)) return rows.map((entry) => ({ entry }));
  return [...groups].flatMap(([name, members]) => [
    { group: { name, members } },
    ...(folded.has(name) ? [] : members.map((entry) => ({ entry }))),
  ]);
}

const foldedKey = 'console.groups';

/** The groups that are folded in this browser. */
function useFolded(): [folded: ReadonlySet<string>, fold: (name: string) => void] {
  const [folded, setFolded] = useState<ReadonlySet<string>>(
    () => new Set<string>(readJson(foldedKey)),
  );
  const fold = (name: string) => {
    const others = [...folded].filter((one) => one !== name);
    const next = folded.has(name) ? others : [...others, name];
    setFolded(new Set(next));
    keepJson(foldedKey, next);
  };
  return [folded, fold];
}

function GroupRow({
  group: { name, members },
  index,
  isFolded,
  onFold,
}: {
  group: Group;
  index: number;
  isFolded: boolean;
  onFold: (name: string) => void;
}) {
  const amounts = Map.groupBy(members, ({ state }) => states[state]);
  return (
    <tr class="group" aria-rowindex={index + 2}>
      <th scope="rowgroup" colspan={columns.length + 1}>
        <button type="button" aria-expanded={!isFolded} onClick={() => onFold(name)}>
          <span>
            <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span> {name}
          </span>
          {Object.values(states).map(
            (facts) =>
              amounts.has(facts) && (
                <span class={facts.tone} key={facts.word}>
                  <Icon tone={facts.tone} /> {inNumbers(amounts.get(facts)?.length)}{' '}
                  {facts.word.toLowerCase()}
                </span>
              ),
          )}
        </button>
      </th>
    </tr>
  );
}

interface RowsProps {
  rows: Entry[];
  order: string;
  isReversed: boolean;
  everyMs: number;
  picked: ReadonlySet<string>;
  onPick: ((id: string, isRange: boolean) => void) | null;
  onPickAll: (() => void) | null;
}

function Rows({ rows, order, isReversed, everyMs, picked, onPick, onPickAll }: RowsProps) {
  const [folded, fold] = useFolded();
  const all = linesOf(rows, folded);
  const { table, range, reveal } = useWindow(all.length);
  const blocks = [];
  for (let block = range.first; block <= range.last; block += 1) {
    blocks.push({ block, lines: all.slice(block * blockRows, (block + 1) * blockRows) });
  }
  const shown = blocks.flatMap(({ lines }) => lines.flatMap(({ entry }) => entry?.check.id ?? []));
  // What only scrolls by is not read.
  const ids = useSettled(shown.join()).split(',').filter(Boolean);
  // Only an order by figures needs those of rows that are not shown.
  useFigures(ofFigures.has(order) ? rows.map(({ check }) => check.id) : ids);
  const latest = useLatest(ids, everyMs);
  useRowKeys(table, all.length, reveal);
  const spacer = (name: string, height: number) =>
    height > 0 && (
      <tbody aria-hidden="true" key={name} class="spacer">
        <tr>
          <td colspan={columns.length + 1} style={{ height: `${height}px`, padding: 0 }} />
        </tr>
      </tbody>
    );
  return (
    <div class="scroll">
      <table class="checks" ref={table} aria-rowcount={all.length + 1}>
        <Head
          order={order}
          isReversed={isReversed}
          areAllPicked={picked.size > 0 && rows.every(({ check }) => picked.has(check.id))}
          onPickAll={onPickAll}
        />
        {spacer('above', range.above)}
        {blocks.map(({ block, lines }) => (
          <tbody key={block} data-block={block}>
            {lines.map(({ entry, group }, at) => {
              const index = block * blockRows + at;
              return group !== undefined ? (
                <GroupRow
                  key={`group ${group.name}`}
                  group={group}
                  index={index}
                  isFolded={folded.has(group.name)}
                  onFold={fold}
                />
              ) : (
                <Row
                  key={entry.check.id}
                  index={index}
                  check={entry.check}
                  state={entry.state}
                  isPicked={picked.has(entry.check.id)}
                  onPick={onPick}
                  figures={figuresOf(entry.check.id)}
                  latest={latest.get(entry.check.id)}
                />
              );
            })}
          </tbody>
        ))}
        {spacer('below', range.below)}
      </table>
    </div>
  );
}

/**
 * The selection: one check, with shift all between it and the one before, or all that were found.
 */
function usePicked(rows: Entry[]) {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const last = useRef('');
  const shown = useRef(rows);
  shown.current = rows;
  const onPick = useCallback((id: string, isRange: boolean) => {
    const ids = shown.current.map(({ check }) => check.id);
    const from = isRange ? ids.indexOf(last.current) : -1;
    const to = ids.indexOf(id);
    last.current = id;
    setPicked((before) => {
      const next = new Set(before);
      const isAdded = !before.has(id);
      const range = from < 0 ? [id] : ids.slice(Math.min(from, to), Math.max(from, to) + 1);
      for (const one of range) {
        if (isAdded) next.add(one);
        else next.delete(one);
      }
      return next;
    });
  }, []);
  const onPickAll = useCallback(() => {
    const ids = shown.current.map(({ check }) => check.id);
    setPicked((before) => (ids.every((id) => before.has(id)) ? new Set() : new Set(ids)));
  }, []);
  return { picked, onPick, onPickAll, pickNone: () => setPicked(new Set()) };
}

function List({
  checks,
  query,
  everyMs,
}: {
  checks: CheckOverview[];
  query: Query;
  everyMs: number;
}) {
  const sorted = useMemo(() => checks.map(entryOf).sort(byName), [checks]);
  const { sort = 'state' } = query;
  const order = sort.replace('!', '');
  const isReversed = sort.endsWith('!');
  const compare = orders[order] ?? byState;
  // Equal ones stay in the order of their names.
  const rows = sorted
    .filter(filterOf(query))
    .sort((left, right) => (isReversed ? -1 : 1) * compare(left, right));
  const { picked, onPick, onPickAll, pickNone } = usePicked(rows);
  const { mayWrite } = useMe();

  return (
    <>
      <Summary entries={sorted} query={query} />
      <Filters entries={sorted} query={query} />
      <SavedViews query={query} />
      <p class="sr-only" role="status">
        {count(rows.length, 'monitor')} shown
      </p>
      {rows.length === 0 ? (
        <Empty title="No monitor matches">
          <a href={link('checks')}>Show all {inNumbers(sorted.length)}</a>
        </Empty>
      ) : (
        <Rows
          rows={rows}
          order={order}
          isReversed={isReversed}
          everyMs={everyMs}
          picked={picked}
          onPick={mayWrite ? onPick : null}
          onPickAll={mayWrite ? onPickAll : null}
        />
      )}
      {picked.size > 0 && (
        <BulkBar checks={checks.filter(({ id }) => picked.has(id))} onClear={pickNone} />
      )}
    </>
  );
}

/** Filters and order of the list under a name. They stay in this browser. */
function SavedViews({ query }: { query: Query }) {
  const [views, setViews] = useState(savedViews);
  const [isNaming, setNaming] = useState(false);
  const search = new URLSearchParams(query).toString();
  const current = views.find((view) => view.search === search);
  const save = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name')).trim();
    if (name === '') return;
    saveView({ name, search });
    setViews(savedViews());
    setNaming(false);
  };
  const forget = () => {
    forgetView(current?.name ?? '');
    setViews(savedViews());
  };
  if (views.length === 0 && search === '') return null;
  return (
    <div class="saved-views" role="group" aria-label="Saved views">
      {views.map((view) => (
        <a
          class="button"
          key={view.name}
          href={`${link('checks')}?${view.search}`}
          aria-current={view === current ? 'true' : undefined}
        >
          {view.name}
        </a>
      ))}
      {current !== undefined && (
        <button type="button" class="plain-button" onClick={forget}>
          Delete view {current.name}
        </button>
      )}
      {current === undefined && search !== '' && !isNaming && (
        <button type="button" class="plain-button" onClick={() => setNaming(true)}>
          Save this view
        </button>
      )}
      {isNaming && (
        <form class="actions" onSubmit={save}>
          <input
            name="name"
            aria-label="Name of the view"
            placeholder="Name"
            maxlength={60}
            autofocus
            required
          />
          <button>Save in this browser</button>
          <button type="button" class="plain-button" onClick={() => setNaming(false)}>
            Cancel
          </button>
        </form>
      )}
    </div>
  );
}

/**
 * The latest runs of checks: they cost more to read than all the rest of a check. Those that were read
 * before stay until there are new ones.
 */
function useLatest(ids: string[], everyMs: number): ReadonlyMap<string, Latest> {
  const known = useRef<Map<string, Latest>>(new Map());
  const query = { runs: slots, checkId: ids.toSorted() };
  const { data } = useQuery(ids.length === 0 ? null : 'v1/check-overview', {
    ...{ query, everyMs, liveMs: wholeEveryMs },
  });
  for (const check of data ?? []) known.current.set(check.id, check);
  return known.current;
}

export function ChecksView({ query }: { query: Query }) {
  const [everyMs, setEvery] = useState(15_000);
  const read = useQuery('v1/check-overview', {
    ...{ query: { runs: 0 }, everyMs, liveMs: wholeEveryMs },
    // An order by the last run changes with every result.
    namesChecks: query.sort?.startsWith('lastRun') !== true,
  });
  const amount = read.data?.length ?? 0;
  useEffect(() => setEvery(amount > manyChecks ? 60_000 : 15_000), [amount > manyChecks]);
  const { mayWrite } = useMe();
  // Steps that have just been done stay until the view is left.
  const isBeginning = useRef(!areFirstStepsDone()).current && mayWrite && amount <= mostAtFirst;
  const steps = (checks: CheckOverview[]) => isBeginning && <FirstSteps checks={checks} />;
  return (
    <>
      <div class="title-line">
        <h1>Monitors</h1>
        {mayWrite && (
          <div class="actions">
            <a class="button" href={link('new', 'checks')}>
              <Picture name="list" /> Import
            </a>
            <NewLink name="check" word="New monitor" kind="primary" />
          </div>
        )}
      </div>
      {Answer({
        read,
        what: 'Loading monitors',
        isEmpty: (checks) => checks.length === 0,
        empty: isBeginning ? steps([]) : <Empty title="No monitors yet" />,
        children: (checks) => (
          <>
            {steps(checks)}
            <List checks={checks} query={query} everyMs={everyMs} />
          </>
        ),
      })}
    </>
  );
}
