/** The list of checks by group, with problems first. The server finds and sorts: a page is read when it is shown. */
import type { CallOptions, CheckOverview, DataAt } from '../contract.ts';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { memo } from '../memo.ts';
import { partIn, ranges, toneOf, watchedMs } from '../analytics.ts';
import { figuresOf, useFigures, type Figures } from '../figures.ts';
import { count, duration, every, inNumbers, nothing, percent, typeName } from '../format.ts';
import { useMe } from '../me.ts';
import { Bars } from '../parts/bars.tsx';
import { Icon, Picture, State } from '../parts/icons.tsx';
import { NewLink, Select, Tags } from '../parts/layout.tsx';
import { late } from '../parts/late.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { Ago } from '../parts/time.tsx';
import type { Picked } from './bulk.tsx';
import { blockRows, useSettled, useWindow } from '../parts/window.ts';
import { checkTypes, maxSortedByFigures } from '../facts.ts';
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
import { isPinged, states } from '../state.ts';

type List = DataAt<'v1/check-overview/list'>;
type Line = List['lines'][number];
type Group = NonNullable<Line['group']>;
type ListQuery = NonNullable<CallOptions<'GET', 'v1/check-overview/list'>['query']>;
/** What comes with every result, for the rows on the screen alone. */
type Latest = Pick<CheckOverview, 'recentRuns' | 'lastRunAt'>;

const BulkBar = late(() => import('./bulk.tsx').then((all) => all.BulkBar));

const FirstSteps = late(() => import('../forms/first-steps.tsx').then((all) => all.FirstSteps));
/** More checks are no beginning. */
const mostAtFirst = 3;

const manyChecks = 300;
/** The server says what changes; this is only in case that a message was lost. */
const wholeEveryMs = 1_800_000;
/** Latest runs of a row. */
const slots = 24;
/** Lines of a page. The screen and what is near it are on two of them at most. */
const pageLines = screen.height > 1_600 ? 300 : 100;
/** Of a request for what is not shown. */
const mostLines = 1_000;

const columns: [order: string | null, word: string, className?: string][] = [
  ['status', 'State'],
  ['name', 'Name'],
  ['type', 'Type', 'wide-only'],
  [null, 'Locations', 'wide-only'],
  [null, 'Interval', 'wide-only right'],
  ['lastRun', 'Last run', 'wide-only'],
  [null, 'Recent runs'],
  ['availability', '24 h', 'right'],
  ['p95', 'p95', 'wide-only right'],
];

const mostLetters = 200;
const ofFigures = new Set<string | null>(['availability', 'p95']);
const orders = new Set(columns.map(([order]) => order));

/** The order that an address asks for, with `!` for the reverse; what it cannot name is by status. */
function orderOf({ sort = '' }: Query) {
  const order = sort.replace('!', '');
  return { order: orders.has(order) ? order : 'status', isReversed: sort.endsWith('!') };
}

/** What people write into an address is no reason to show nothing. */
function listQuery(query: Query, folded: readonly number[]): ListQuery {
  const { q = '', state = '', type = '', tag } = query;
  const { order, isReversed } = orderOf(query);
  return {
    ...{ search: q.slice(0, mostLetters), tag, folded, sort: order, reversed: isReversed, runs: 0 },
    status: Object.hasOwn(states, state) ? state : undefined,
    checkType: Object.hasOwn(checkTypes, type) ? type : undefined,
  };
}

/** `onPick` is null for roles that may not change checks. */
interface RowFacts {
  check: CheckOverview;
  index: number;
  isPicked: boolean;
  onPick: Picks['pick'] | null;
}
const Row = memo(
  ({
    check,
    figures,
    latest,
    index,
    isPicked,
    onPick,
  }: RowFacts & { figures: Figures | undefined; latest: Latest | undefined }) => {
    const { word, tone } = states[check.status];
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
              onClick={(event) => onPick(check, event.shiftKey)}
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
  query,
  order,
  matching,
  areAllPicked,
  onPickAll,
}: {
  query: Query;
  order: string;
  matching: number;
  areAllPicked: boolean;
  onPickAll: ((isAdded: boolean) => void) | null;
}) {
  const { isReversed } = orderOf(query);
  const sort = (column: string) => () => {
    const reverse = order === column && !isReversed;
    changeQuery({ sort: column === 'status' && !reverse ? '' : column + (reverse ? '!' : '') });
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
              onClick={() => onPickAll(!areAllPicked)}
            />
          </td>
        )}
        {columns.map(([column, word, className = '']) => {
          const direction = isReversed ? 'descending' : 'ascending';
          const areTooMany = ofFigures.has(column) && matching > maxSortedByFigures;
          return (
            <th
              key={word}
              scope="col"
              class={className}
              aria-sort={order === column ? direction : undefined}
              title={
                areTooMany ? `Sorts up to ${inNumbers(maxSortedByFigures)} monitors` : undefined
              }
            >
              {column === null || areTooMany ? (
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

function isTyping({ target }: Event) {
  const fields = 'input:not([type=checkbox]), select, textarea, dialog';
  return target instanceof Element && target.closest(fields) !== null;
}

function Filters({ types, tags, query }: { types: string[]; tags: string[]; query: Query }) {
  const search = useRef<HTMLInputElement | null>(null);
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event)) return;
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
          maxlength={mostLetters}
          onInput={() => changeQuery({ q: search.current?.value ?? '' })}
        />
      </label>
      <Select
        label="Type"
        value={query.type ?? ''}
        options={[['', 'All'], ...types.map((type) => [type, typeName(type)] as const)]}
        onChange={choosing('type')}
      />
      <Select
        label="Tag"
        value={query.tag ?? ''}
        options={[['', 'All'], ...tags.map((tag) => [tag, tag] as const)]}
        onChange={choosing('tag')}
      />
    </form>
  );
}

function amountsOf(counts: List['statusCounts']) {
  return counts.map(({ status, checks }) => {
    const { tone, word } = states[status];
    return { status, tone, amount: inNumbers(checks), word: word.toLowerCase() };
  });
}

/** Counts per state, which are also filters. */
function Summary({ of, query }: { of: List['statusCounts']; query: Query }) {
  return (
    <div class="summary" role="group" aria-label="States">
      {amountsOf(of).map(({ status, tone, amount, word }) => {
        const isChosen = query.state === status;
        return (
          <button
            type="button"
            key={status}
            aria-pressed={isChosen}
            onClick={() => changeQuery({ state: isChosen ? '' : status })}
          >
            <Icon tone={tone} />
            <b>{amount}</b> {word}
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
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !['j', 'k', 'x'].includes(key)) return;
      if (isTyping(event)) return;
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
    // The focus stays where somebody puts it meanwhile.
    const onFocus = () => {
      wanted.current = null;
    };
    addEventListener('keydown', onKey);
    addEventListener('focusin', onFocus);
    return () => {
      removeEventListener('keydown', onKey);
      removeEventListener('focusin', onFocus);
    };
  }, [rows]);
}

/** What a request takes. */
const mostFolded = 500;
const foldedKey = 'console.groups';
/** The oldest are forgotten, such as those of groups that are deleted. */
const lastFolded = (ids: number[]) => ids.slice(-mostFolded);

/** Ids of the groups that are folded in this browser; 0 for no group. */
function useFolded(): [folded: number[], fold: (id: number) => void] {
  const [folded, setFolded] = useState<number[]>(() =>
    lastFolded(readJson(foldedKey).filter(Number.isInteger)),
  );
  const fold = (id: number) => {
    const others = folded.filter((one) => one !== id);
    const next = lastFolded(folded.includes(id) ? others : [...others, id]);
    setFolded(next);
    keepJson(foldedKey, next);
  };
  return [folded, fold];
}

function GroupRow({
  group: { id, name, statusCounts },
  index,
  isFolded,
  onFold,
}: {
  group: Group;
  index: number;
  isFolded: boolean;
  onFold: (id: number) => void;
}) {
  return (
    <tr class="group" aria-rowindex={index + 2}>
      <th scope="rowgroup" colspan={columns.length + 1}>
        <button type="button" aria-expanded={!isFolded} onClick={() => onFold(id ?? 0)}>
          <span>
            <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span> {name ?? 'No group'}
          </span>
          {amountsOf(statusCounts).map(({ status, tone, amount, word }) => (
            <span class={tone} key={status}>
              <Icon tone={tone} /> {amount} {word}
            </span>
          ))}
        </button>
      </th>
    </tr>
  );
}

/** Pages of the list that are on the screen, from 1. */
interface Pages {
  first: number;
  last: number;
}

interface RowsProps {
  query: Query;
  order: string;
  lineAt: (index: number) => Line | undefined;
  lines: number;
  matching: number;
  folded: number[];
  onFold: (id: number) => void;
  everyMs: number;
  isOld: boolean;
  onPages: (pages: Pages) => void;
  picks: Picks | null;
}

function Rows({
  query,
  order,
  lineAt,
  lines,
  matching,
  folded,
  onFold,
  everyMs,
  isOld,
  onPages,
  picks,
}: RowsProps) {
  const { table, range, reveal } = useWindow(lines);
  const blocks = [];
  for (let block = range.first; block <= range.last; block += 1) {
    const from = block * blockRows;
    const amount = Math.min(blockRows, lines - from);
    blocks.push(
      Array.from({ length: amount }, (_, at) => ({ index: from + at, line: lineAt(from + at) })),
    );
  }
  const pageOf = (block: number) => Math.floor((block * blockRows) / pageLines) + 1;
  const pages = { first: pageOf(range.first), last: pageOf(range.last) };
  useLayoutEffect(() => onPages(pages), [pages.first, pages.last]);
  const shown = blocks.flat().flatMap(({ line }) => line?.check?.id ?? []);
  // What only scrolls by is not read.
  const ids = useSettled(shown.join()).split(',').filter(Boolean);
  useFigures(ids);
  const latest = useLatest(ids, everyMs);
  useRowKeys(table, lines, reveal);
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
      <table class="checks" ref={table} aria-rowcount={lines + 1} aria-busy={isOld}>
        <Head
          query={query}
          order={order}
          matching={matching}
          areAllPicked={
            picks !== null &&
            shown.length > 0 &&
            picks.picked.size >= matching &&
            shown.every((id) => picks.picked.has(id))
          }
          onPickAll={picks?.pickAll ?? null}
        />
        {spacer('above', range.above)}
        {blocks.map((block, at) => (
          <tbody key={range.first + at} data-block={range.first + at}>
            {block.map(({ index, line }) => {
              if (line?.group != null) {
                return (
                  <GroupRow
                    key={`group ${line.group.id}`}
                    group={line.group}
                    index={index}
                    isFolded={folded.includes(line.group.id ?? 0)}
                    onFold={onFold}
                  />
                );
              }
              const check = line?.check;
              if (check == null)
                return (
                  <tr key={index} class="unread" aria-rowindex={index + 2}>
                    <td colspan={columns.length + 1}>…</td>
                  </tr>
                );
              return (
                <Row
                  key={check.id}
                  index={index}
                  check={check}
                  isPicked={picks?.picked.has(check.id) === true}
                  onPick={picks?.pick ?? null}
                  figures={figuresOf(check.id)}
                  latest={latest.get(check.id)}
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

interface Picks {
  picked: ReadonlyMap<string, Picked>;
  pick: (check: Picked, isRange: boolean) => void;
  pickAll: (isAdded: boolean) => void;
}

/** Checks of the list in its order, also those that are not shown, until there are enough. */
async function readChecks(query: ListQuery, isEnough: (found: Picked[]) => boolean = () => false) {
  const found: Picked[] = [];
  for (let page = 1; ; page += 1) {
    const { data, total } = await call('v1/check-overview/list', {
      query: { ...query, limit: mostLines, page },
    });
    found.push(...data.lines.flatMap(({ check }) => check ?? []));
    if (isEnough(found) || page * mostLines >= (total ?? 0)) return found;
  }
}

const byId = (checks: Picked[]) => new Map(checks.map((check) => [check.id, check]));

/**
 * The selection: one check, with shift all between it and the one before, or all that match.
 */
function usePicked(query: Query, folded: number[]) {
  const [picked, setPicked] = useState<ReadonlyMap<string, Picked>>(new Map());
  const [problem, attempt] = useAttempt();
  /** A place in the list may have become that of another check. */
  const last = useRef<string | null>(null);
  const now = useRef({ query, folded, picked });
  now.current = { query, folded, picked };
  const change = (checks: Picked[], isAdded: boolean) =>
    setPicked((before) => {
      if (isAdded) return new Map([...before, ...byId(checks)]);
      const removed = byId(checks);
      return new Map([...before].filter(([id]) => !removed.has(id)));
    });
  const pick = useCallback((check: Picked, isRange: boolean) => {
    const isAdded = !now.current.picked.has(check.id);
    const ends = [last.current, check.id];
    last.current = check.id;
    change([check], isAdded);
    if (!isRange || ends[0] === null) return;
    const of = listQuery(now.current.query, now.current.folded);
    void attempt(async () => {
      const places = (found: Picked[]) =>
        ends.map((end) => found.findIndex(({ id }) => id === end));
      const found = await readChecks(of, (before) => !places(before).includes(-1));
      const [from, to] = [Math.min(...places(found)), Math.max(...places(found))];
      if (from >= 0) change(found.slice(from, to + 1), isAdded);
    })();
  }, []);
  const pickAll = useCallback((isAdded: boolean) => {
    const of = { ...listQuery(now.current.query, []), sort: 'name' };
    void attempt(async () => setPicked(isAdded ? byId(await readChecks(of)) : new Map()))();
  }, []);
  const keep = (checks: Picked[]) => setPicked(byId(checks));
  return { picked, pick, pickAll, keep, problem };
}

interface ListProps {
  query: Query;
  list: List;
  /** Also of those that do not match. */
  amount: number;
  lines: number;
  lineAt: (index: number) => Line | undefined;
  folded: number[];
  onFold: (id: number) => void;
  everyMs: number;
  isOld: boolean;
  onPages: (pages: Pages) => void;
}

function List({ list, amount, ...shown }: ListProps) {
  const { query, folded } = shown;
  const { sort, matching, statusCounts, types, tags } = list;
  const { problem, keep, ...picks } = usePicked(query, folded);
  const { mayWrite } = useMe();
  return (
    <>
      <Summary of={statusCounts} query={query} />
      <Filters types={types} tags={tags} query={query} />
      <SavedViews query={query} />
      {problem}
      {sort !== orderOf(query).order && !shown.isOld && (
        <p class="notice">
          Sorted by state: up to {inNumbers(maxSortedByFigures)} monitors can be sorted by 24 h or
          p95.
        </p>
      )}
      <p class="sr-only" role="status">
        {count(matching, 'monitor')} shown
      </p>
      {matching === 0 ? (
        <Empty title="No monitor matches">
          <a href={link('checks')}>Show all {inNumbers(amount)}</a>
        </Empty>
      ) : (
        <Rows {...shown} order={sort} matching={matching} picks={mayWrite ? picks : null} />
      )}
      {picks.picked.size > 0 && <BulkBar checks={[...picks.picked.values()]} onKeep={keep} />}
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
  const [folded, onFold] = useFolded();
  const [pages, onPages] = useState<Pages>({ first: 1, last: 1 });
  const of = { ...listQuery(query, folded), limit: pageLines };
  const refreshing = {
    ...{ everyMs, liveMs: wholeEveryMs, keepsOld: true },
    // An order by the last run changes with every result.
    ofStates: orderOf(query).order !== 'lastRun',
  };
  const first = useQuery('v1/check-overview/list', {
    ...{ query: { ...of, page: pages.first }, ...refreshing },
  });
  const next = useQuery(pages.last > pages.first ? 'v1/check-overview/list' : null, {
    ...{ query: { ...of, page: pages.last }, ...refreshing },
  });
  // What another page of the same list answered is no older.
  const asked = JSON.stringify(of);
  const answered = useRef(asked);
  if (!first.isOld) answered.current = asked;
  const isOld = answered.current !== asked;
  const read = { ...first, problem: first.problem ?? next.problem };
  const lineAt = (index: number) => {
    const page = Math.floor(index / pageLines) + 1;
    const found = [first.data, next.isOld ? undefined : next.data];
    return found.find((one) => one?.page === page)?.lines[index % pageLines];
  };
  const amount = (read.data?.statusCounts ?? []).reduce((sum, { checks }) => sum + checks, 0);
  useEffect(() => setEvery(amount > manyChecks ? 60_000 : 15_000), [amount > manyChecks]);
  const { mayWrite } = useMe();
  // Steps that have just been done stay until the view is left.
  const isNew = useRef(!areFirstStepsDone()).current && mayWrite;
  const isBeginning = isNew && read.data !== undefined && amount <= mostAtFirst;
  const few = useQuery(isBeginning ? 'v1/check-overview' : null, { query: { runs: 0 }, everyMs });
  const steps = few.data && <FirstSteps checks={few.data} />;
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
        isEmpty: () => amount === 0,
        empty: steps ?? <Empty title="No monitors yet" />,
        children: (list) => (
          <>
            {steps}
            <List
              {...{ query, list, amount, lineAt, folded, onFold, everyMs, isOld, onPages }}
              lines={read.total ?? 0}
            />
          </>
        ),
      })}
    </>
  );
}
