/** The audit log: searched, filtered, with what changed before and after. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Query } from '../router.js' */
import { html, useEffect, useMemo, useState } from '../dom.js';
import { besideConsole, call, toProblem } from '../api.js';
import { useMe } from '../me.js';
import { Choice } from '../parts/layout.js';
import { List, entriesOf } from '../parts/list.js';
import { Empty, wordsOf } from '../parts/notices.js';
import { Search } from '../parts/search.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { choosing } from '../router.js';

/** @typedef {DataAt<'v1/audit-log'>['entries'][number]} Entry */

/**
 * `updateURLMonitor` is "update URL monitor".
 * @param {string} operation
 */
function inWords(operation) {
  return operation
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/\b[A-Z][a-z]/g, (start) => start.toLowerCase());
}

/** @param {unknown} value */
function shown(value) {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

/** @param {{ entry: Entry }} props */
function Changes({ entry: { before, after } }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0) return null;
  return html`<details>
    <summary>${names.length === 1 ? names[0] : `${names.length} fields`}</summary>
    <dl class="changes">
      ${names.map(
        (name) => html`<div key=${name}>
          <dt>${name}</dt>
          ${before !== null && name in before && html`<dd><del class="mono">${shown(before[name])}</del></dd>`}
          ${after !== null && name in after && html`<dd><ins class="mono">${shown(after[name])}</ins></dd>`}
        </div>`,
      )}
    </dl>
  </details>`;
}

/** @type {Partial<Record<Entry['actor']['kind'], string>>} */
const kinds = { API_KEY: 'API key', AGENT: 'key of agents', NOBODY: 'not signed in' };

/** @param {{ entry: Entry }} props */
function AuditRow({ entry }) {
  const { at, actor, address, operation, outcome, resource } = entry;
  return html`<tr>
    <td class="wide-only"><${Time} at=${at} /></td>
    <th scope="row" class="long">
      ${actor.name}
      <span class="under long">
        <span class="narrow-only"><${Time} at=${at} />${' '}</span>
        ${kinds[actor.kind] ?? ''}
        ${address !== null && ` ${address}`}
      </span>
    </th>
    <td>
      ${inWords(operation)} ${outcome === 'REFUSED' && html`<span class="tag">refused</span>`}
      <span class="under long">
        ${resource !== null && [resource.type, resource.name ?? resource.id].filter(Boolean).join(' · ')}
      </span>
      <${Changes} entry=${entry} />
    </td>
  </tr>`;
}

/** @type {[string, string][]} */
const outcomes = [
  ['', 'All'],
  ['DONE', 'Done'],
  ['REFUSED', 'Refused'],
];

/** @param {{ query: Query }} props */
export function AuditView({ query }) {
  const { mayAct } = useMe();
  const { search = '', outcome = '' } = query;
  const isRefused = outcome === 'REFUSED';
  const filters = useMemo(
    () => ({
      ...(search !== '' && { search }),
      ...(outcome !== '' && {
        outcome: isRefused ? /** @type {const} */ ('REFUSED') : /** @type {const} */ ('DONE'),
      }),
    }),
    [search, outcome],
  );
  const read = useQuery(mayAct('ADMIN') ? 'v1/audit-log' : null, {
    query: { ...filters, limit: 50 },
    everyMs: 30_000,
  });
  const [older, setOlder] = useState(
    /** @type {{ entries: Entry[], nextId: string | null } | null} */ (null),
  );
  const [problem, setProblem] = useState('');
  useEffect(() => setOlder(null), [filters]);

  if (!mayAct('ADMIN')) {
    return html`<h1>Audit log</h1>
      <${Empty} title="Only admins read the audit log" />`;
  }
  const nextId = older === null ? (read.data?.nextId ?? null) : older.nextId;
  const more = async () => {
    try {
      const { data } = await call('v1/audit-log', {
        query: { ...filters, limit: 50, ...(nextId !== null && { nextId }) },
      });
      setOlder({ entries: [...(older?.entries ?? []), ...data.entries], nextId: data.nextId });
      setProblem('');
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
  };
  const download = async (/** @type {'csv' | 'ndjson'} */ format) => {
    // A link alone would lack the header without which no session counts.
    const url = new URL(besideConsole('v1/audit-log/export'));
    for (const [name, value] of Object.entries({ ...filters, format })) {
      url.searchParams.set(name, value);
    }
    const answer = await fetch(url, { headers: { 'x-console': '1' } }).catch(() => null);
    if (answer === null || !answer.ok) {
      setProblem('The export failed. Try again in a minute.');
      return;
    }
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `audit-log.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  return html`<h1>Audit log</h1>
    <p class="muted">Who changed what, from where. Values that are secret are never in it.</p>
    <div class="filters" role="search">
      <${Search} value=${search} placeholder="a name, an address, an operation" />
      <${Choice} label="Outcome" options=${outcomes} value=${outcome} onChange=${choosing('outcome')} />
      <button type="button" onClick=${() => download('csv')}>Export CSV</button>
      <button type="button" onClick=${() => download('ndjson')}>Export JSON</button>
    </div>
    ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
    ${List({
      read,
      label: 'Audit log',
      columns: [['When', 'wide-only'], 'Who', 'What'],
      pick: (page) => [...entriesOf(page), ...(older?.entries ?? [])],
      row: (entry) => html`<${AuditRow} key=${entry.id} entry=${entry} />`,
      empty: html`<${Empty} title="Nothing matches" />`,
      after: () =>
        nextId !== null &&
        html`<p class="form-end"><button type="button" onClick=${more}>Older entries</button></p>`,
    })}`;
}
