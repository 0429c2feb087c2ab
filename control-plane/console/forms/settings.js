/** Lists of what checks share: groups, variables, snippets, services, certificates, keys. */
/** @import { ComponentChildren } from 'preact' */
/** @import { Values } from './values.js' */
import { html, useState } from '../dom.js';
import { forms } from '../form-facts.js';
import { count, inWords } from '../format.js';
import { useMe } from '../me.js';
import { Code } from '../parts/code.js';
import { Table, Tags } from '../parts/layout.js';
import { Answer, Empty } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { useList } from '../query.js';
import { link } from '../router.js';
import { RemoveButton, RevokeButton } from './remove.js';
import { takeOnce } from './shown-once.js';

/**
 * @typedef {{
 *   plural: string,
 *   why: string,
 *   query: object,
 *   columns: [heading: string, cell: (entry: Values) => ComponentChildren][],
 * }} Listing
 */

const list = (/** @type {unknown} */ value) => (Array.isArray(value) ? value : []);
const time = (/** @type {unknown} */ at) =>
  at == null ? 'never' : html`<${Time} at=${String(at)} />`;

const pageOf100 = { limit: 100 };

/** @type {Record<string, Listing>} */
const listings = {
  group: {
    plural: 'Groups',
    query: pageOf100,
    why: 'Checks of a group share settings, variables and a limit of runs at once.',
    columns: [
      ['Tags', ({ tags }) => html`<${Tags} tags=${list(tags)} />`],
      [
        'Locations',
        ({ privateLocations, locations }) =>
          [...list(privateLocations), ...list(locations)].join(', '),
      ],
      ['Active', ({ activated, muted }) => (activated ? (muted ? 'muted' : 'yes') : 'no')],
    ],
  },
  variable: {
    plural: 'Variables',
    query: pageOf100,
    why: 'Values for all checks, as {{KEY}} in requests and process.env.KEY in scripts.',
    columns: [
      [
        'Value',
        ({ value, secret }) =>
          secret ? html`<i class="muted">secret</i>` : html`<code>${value}</code>`,
      ],
    ],
  },
  snippet: {
    plural: 'Snippets',
    query: pageOf100,
    why: 'Scripts that several checks share.',
    columns: [['Length', ({ script }) => count(String(script).split('\n').length, 'line')]],
  },
  service: {
    plural: 'Services',
    query: { paginated: false },
    why: 'What status pages show and incidents name.',
    columns: [],
  },
  certificate: {
    plural: 'Client certificates',
    query: {},
    why: 'Checks show them to the hosts they are for. Keys are never given back.',
    columns: [['Since', ({ created_at }) => time(created_at)]],
  },
  key: {
    plural: 'API keys',
    query: {},
    why: 'For programs.',
    columns: [
      ['Role', ({ role }) => inWords(String(role))],
      ['Key', ({ maskedKey }) => html`<code>${maskedKey}</code>`],
      ['Made by', ({ madeBy }) => madeBy ?? '–'],
      ['Last used', ({ lastUsedAt }) => time(lastUsedAt)],
      ['Expires', ({ expiresAt }) => time(expiresAt)],
    ],
  },
};

/** @param {{ secret: string }} props */
export function ShownOnce({ secret }) {
  return html`<div class="notice warning" role="status">
    <p>Copy it now: it is not shown again.</p>
    <${Code} label="Key" text=${secret} />
  </div>`;
}

/** @param {{ name: string, listing: Listing }} props */
function Entries({ name, listing }) {
  const form = forms[name];
  const { mayAct } = useMe();
  const [page, setPage] = useState(1);
  const query = listing.query === pageOf100 ? { ...pageOf100, page } : listing.query;
  const read = useList(form?.list ?? null, query);
  const [secret] = useState(() => takeOnce(name));
  if (form === undefined) return null;
  const { plural, why, columns } = listing;
  const EndButton = name === 'key' ? RevokeButton : RemoveButton;
  const canChange = form.update !== null;
  return html`<div class="section-head">
      <p class="muted">${why}</p>
      ${mayAct(form.role) && html`<a class="button primary" href=${link('new', name)}>New ${form.noun}</a>`}
    </div>
    ${secret !== null && html`<${ShownOnce} secret=${secret} />`}
    ${Answer({
      read,
      what: `Loading ${plural.toLowerCase()}`,
      isEmpty: (entries) => entries.length === 0,
      empty: html`<${Empty} title=${`No ${plural.toLowerCase()} yet`} />`,
      children: (entries) => html`<${Table}
        label=${plural}
        columns=${['Name', ...columns.map(([heading]) => heading), ['', 'right']]}
      >
        ${entries.map((/** @type {Values} */ entry) => {
          const id = String(entry[form.id]);
          const title = entry.name ?? entry.host ?? id;
          return html`<tr key=${id}>
            <th scope="row">
              ${canChange ? html`<a href=${link('edit', name, id)}>${title}</a>` : title}
            </th>
            ${columns.map(([heading, cell]) => html`<td key=${heading}>${cell(entry)}</td>`)}
            <td class="right">
              <${EndButton} form=${form} id=${id} title=${title} onRemoved=${read.reload} />
            </td>
          </tr>`;
        })}
      <//>
      ${
        (read.total ?? 0) > 100 &&
        html`<div class="form-end">
          <button type="button" disabled=${page === 1} onClick=${() => setPage(page - 1)}>Back</button>
          <button
            type="button"
            disabled=${page * 100 >= (read.total ?? 0)}
            onClick=${() => setPage(page + 1)}
          >
            Next
          </button>
        </div>`
      }`,
    })}`;
}

/** @param {{ name: string | undefined }} props */
export function SettingsView({ name = 'group' }) {
  const listing = listings[name];
  return html`<h1>Settings</h1>
    <nav class="choice" aria-label="Settings">
      ${Object.entries(listings).map(
        ([one, { plural }]) =>
          html`<a
            class="button"
            key=${one}
            href=${link('settings', one)}
            aria-current=${one === name ? 'page' : undefined}
            >${plural}</a
          >`,
      )}
    </nav>
    ${
      listing === undefined
        ? html`<${Empty} title="There is no such page" />`
        : html`<${Entries} key=${name} name=${name} listing=${listing} />`
    }`;
}
