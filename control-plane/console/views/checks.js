/** The list of all checks, with problems first. */
/** @import { CheckOverview } from '../contract.ts' */
/** @import { Figures } from '../figures.js' */
/** @import { Query } from '../router.js' */
/** @import { State as CheckState } from '../state.js' */
import { html, memo, useEffect, useMemo, useRef, useState } from '../dom.js';
import { figuresOf, useFigures } from '../figures.js';
import { count, duration, every, inNumbers, nothing, percent, typeName } from '../format.js';
import { Bars } from '../parts/bars.js';
import { Icon, State } from '../parts/icons.js';
import { Select, Tags } from '../parts/layout.js';
import { Answer, Empty } from '../parts/notices.js';
import { Ago } from '../parts/time.js';
import { useQuery } from '../query.js';
import { changeQuery, choosing, link } from '../router.js';
import { isPinged, stateOfCheck, states } from '../state.js';

/** @typedef {{ check: CheckOverview, state: CheckState }} Entry */
/** @typedef {Entry & { figures: Figures | undefined }} Line */
/** @typedef {CheckOverview['recentRuns']} Runs */
/** @typedef {(left: Line, right: Line) => number} Order */

/** Rows rendered at first; the rest on demand. Their ids fit into an address that every proxy takes. */
const atFirst = 100;
const manyChecks = 300;
/** Latest runs of a row. */
const slots = 24;

/** @type {Order} */
const byName = (left, right) => left.check.name.localeCompare(right.check.name);
/**
 * Missing values are sorted last in both directions.
 * @param {(line: Line) => number | null | undefined} valueOf
 * @returns {Order}
 */
const byNumber = (valueOf) => (left, right) => {
  const [a, b] = [valueOf(left), valueOf(right)];
  if (a == null || b == null) return Number(a == null) - Number(b == null);
  return a - b;
};

const byState = byNumber(({ state }) => states[state].rank);

/** @type {Record<string, Order>} */
const orders = {
  state: byState,
  name: byName,
  type: (left, right) => left.check.checkType.localeCompare(right.check.checkType),
  lastRun: byNumber(({ check }) =>
    check.lastRunAt === null ? null : -Date.parse(check.lastRunAt),
  ),
  availability: byNumber(({ figures }) => figures?.availability),
  p95: byNumber(({ figures }) => (figures?.p95 == null ? null : -figures.p95)),
};

const ofFigures = new Set(['availability', 'p95']);

/** @type {[order: string | null, word: string, className?: string][]} */
const columns = [
  ['state', 'State'],
  ['name', 'Check'],
  ['type', 'Type', 'wide-only'],
  [null, 'Every', 'wide-only right'],
  ['lastRun', 'Last run', 'wide-only'],
  [null, 'Last runs'],
  ['availability', '24 h', 'right'],
  ['p95', 'p95', 'wide-only right'],
];

/**
 * @param {Entry} entry
 * @param {Query} query
 */
function matches({ check, state }, { q = '', state: wanted, type, tag }) {
  if (wanted && state !== wanted) return false;
  if (type && check.checkType !== type) return false;
  if (tag && !check.tags.includes(tag)) return false;
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [check.name, check.groupName, check.checkType, ...check.tags, ...check.locations]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** @param {number | null | undefined} availability */
function toneOf(availability) {
  if (availability == null || availability >= 99.9) return '';
  return availability >= 99 ? 'warn' : 'bad';
}

const Row = memo(
  (/** @type {Line & { runs: Runs | undefined }} */ { check, state, figures, runs }) => {
    const { word, tone } = states[state];
    const places = check.locations.length;
    return html`<tr>
    <td class="state-cell"><${State} tone=${tone} word=${word} /></td>
    <th scope="row">
      <a href=${link('checks', check.id)}>${check.name}</a>
      <span class="under">
        ${check.groupName !== null && html`<span>${check.groupName}</span>`}
        ${check.muted && html`<span class="tag">muted</span>`}
        ${
          check.unservedLocations.length > 0 &&
          html`<span
            class="tag error"
            title=${`Without an agent: ${check.unservedLocations.join(', ')}`}
            >${count(check.unservedLocations.length, 'location')} without an agent</span
          >`
        }
        <${Tags} tags=${check.tags} />
        <span class="narrow-only">${typeName(check.checkType)}, ${every(check)}</span>
      </span>
    </th>
    <td class="wide-only">
      ${typeName(check.checkType)}
      ${
        places > 0 &&
        html`<span class="under" title=${check.locations.join(', ')}
          >${places === 1 ? check.locations[0] : count(places, 'location')}</span
        >`
      }
    </td>
    <td class="wide-only right">${isPinged(check) ? nothing : every(check)}</td>
    <td class="wide-only nowrap"><${Ago} at=${check.lastRunAt} fallback="not yet" /></td>
    <td>${runs && html`<${Bars} runs=${runs} slots=${slots} />`}</td>
    <td class=${`right ${toneOf(figures?.availability)}`}>${percent(figures?.availability)}</td>
    <td class="wide-only right">${duration(figures?.p95)}</td>
  </tr>`;
  },
);

/** @param {{ order: string, isReversed: boolean }} props */
function Head({ order, isReversed }) {
  const sort = (/** @type {string} */ column) => () => {
    const reverse = order === column && !isReversed;
    changeQuery({ sort: column === 'state' && !reverse ? '' : column + (reverse ? '!' : '') });
  };
  return html`<thead>
    <tr>
      ${columns.map(([column, word, className = '']) => {
        const direction = isReversed ? 'descending' : 'ascending';
        return html`<th
          key=${word}
          scope="col"
          class=${className}
          aria-sort=${order === column ? direction : undefined}
        >
          ${
            column === null
              ? word
              : html`<button type="button" class="sort" onClick=${sort(column)}>${word}</button>`
          }
        </th>`;
      })}
    </tr>
  </thead>`;
}

/** @param {{ entries: Entry[], query: Query }} props */
function Filters({ entries, query }) {
  const typesPresent = [...new Set(entries.map(({ check }) => check.checkType))].sort();
  const tagsPresent = [...new Set(entries.flatMap(({ check }) => check.tags))].sort();
  const search = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== '/') return;
      if (event.target instanceof Element && event.target.closest('input, select, textarea'))
        return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return html`<form class="filters" role="search" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <label class="field grow"
      ><span>Search</span
      ><input
        ref=${search}
        type="search"
        value=${query.q ?? ''}
        placeholder="Name, tag, location  ( / )"
        onInput=${() => changeQuery({ q: search.current?.value ?? '' })}
    /></label>
    <${Select}
      label="Type"
      value=${query.type ?? ''}
      options=${[['', 'All'], ...typesPresent.map((type) => [type, typeName(type)])]}
      onChange=${choosing('type')}
    />
    <${Select}
      label="Tag"
      value=${query.tag ?? ''}
      options=${[['', 'All'], ...tagsPresent.map((tag) => [tag, tag])]}
      onChange=${choosing('tag')}
    />
  </form>`;
}

/**
 * Counts per state, which are also filters.
 * @param {{ entries: Entry[], query: Query }} props
 */
function Summary({ entries, query }) {
  const amounts = Map.groupBy(entries, ({ state }) => states[state]);
  const present = Object.entries(states).filter(([, facts]) => amounts.has(facts));
  return html`<div class="summary" role="group" aria-label="States">
    ${present.map(([state, facts]) => {
      const isChosen = query.state === state;
      return html`<button
        type="button"
        key=${state}
        aria-pressed=${String(isChosen)}
        onClick=${() => changeQuery({ state: isChosen ? '' : state })}
      >
        <${Icon} tone=${facts.tone} />
        <b>${inNumbers(amounts.get(facts)?.length)}</b> ${facts.word.toLowerCase()}
      </button>`;
    })}
  </div>`;
}

/** @param {{ checks: CheckOverview[], query: Query, everyMs: number }} props */
function List({ checks, query, everyMs }) {
  const [isWhole, setWhole] = useState(false);
  const entries = useMemo(
    () => checks.map((check) => ({ check, state: stateOfCheck(check) })),
    [checks],
  );
  const found = entries.filter((entry) => matches(entry, query));
  const { sort = 'state' } = query;
  const order = sort.replace('!', '');
  const isReversed = sort.endsWith('!');
  const compare = orders[order] ?? byState;
  const rows = found
    .map((entry) => ({ ...entry, figures: figuresOf(entry.check.id) }))
    .sort((left, right) => (isReversed ? -1 : 1) * compare(left, right) || byName(left, right));
  const shown = isWhole ? rows : rows.slice(0, atFirst);
  const ids = shown.map(({ check }) => check.id);
  // Only an order by figures needs those of rows that are not shown.
  useFigures(ofFigures.has(order) ? found.map(({ check }) => check.id) : ids);
  const runs = useRecentRuns(isWhole ? null : ids, everyMs);

  return html`<${Summary} entries=${entries} query=${query} />
    <${Filters} entries=${entries} query=${query} />
    <p class="sr-only" role="status">${count(rows.length, 'check')} shown</p>
    ${
      rows.length === 0
        ? html`<${Empty} title="No check matches">
            <a href=${link('checks')}>Show all ${inNumbers(entries.length)}</a>
          <//>`
        : html`<div class="scroll">
              <table class="checks">
                <${Head} order=${order} isReversed=${isReversed} />
                <tbody>
                  ${shown.map(
                    (entry) =>
                      html`<${Row}
                        key=${entry.check.id}
                        check=${entry.check}
                        state=${entry.state}
                        figures=${entry.figures}
                        runs=${runs.get(entry.check.id)}
                      />`,
                  )}
                </tbody>
              </table>
            </div>
            ${
              shown.length < rows.length &&
              html`<button type="button" class="more" onClick=${() => setWhole(true)}>
                Show all ${inNumbers(rows.length)} checks
              </button>`
            }`
    }`;
}

/**
 * The latest runs of checks, or of all for null: they cost more to read than all the rest of a check.
 * Those that were read before stay until there are new ones.
 * @param {string[] | null} ids
 * @param {number} everyMs
 * @returns {ReadonlyMap<string, Runs>}
 */
function useRecentRuns(ids, everyMs) {
  const known = useRef(/** @type {Map<string, Runs>} */ (new Map()));
  const query = { runs: slots, ...(ids && { checkId: ids.toSorted() }) };
  const { data } = useQuery(ids?.length === 0 ? null : 'v1/check-overview', { query, everyMs });
  for (const { id, recentRuns } of data ?? []) known.current.set(id, recentRuns);
  return known.current;
}

/** @param {{ query: Query }} props */
export function ChecksView({ query }) {
  const [everyMs, setEvery] = useState(15_000);
  const read = useQuery('v1/check-overview', { query: { runs: 0 }, everyMs });
  const amount = read.data?.length ?? 0;
  useEffect(() => setEvery(amount > manyChecks ? 30_000 : 15_000), [amount > manyChecks]);
  return html`<h1>Checks</h1>
    ${Answer({
      read,
      what: 'Loading checks',
      isEmpty: (checks) => checks.length === 0,
      empty: html`<${Empty} title="There are no checks yet">
        Create the first one through the API: <a href="../docs">how</a>.
      <//>`,
      children: (checks) => html`<${List} checks=${checks} query=${query} everyMs=${everyMs} />`,
    })}`;
}
