/** Incidents, status pages and maintenance windows. */
/** @import { DataAt } from '../contract.ts' */
/** @import { Tone } from '../state.js' */
import { html, useState } from '../dom.js';
import { besideConsole } from '../api.js';
import { count, inWords, span } from '../format.js';
import { useMe } from '../me.js';
import { State } from '../parts/icons.js';
import { Section, Tags } from '../parts/layout.js';
import { List, allOf, entriesOf } from '../parts/list.js';
import { Empty } from '../parts/notices.js';
import { Time } from '../parts/time.js';
import { takeOnce } from '../forms/shown-once.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';

/** @typedef {DataAt<'v1/status-pages/incidents'>['entries'][number]} IncidentEntry */
/** @typedef {DataAt<'v1/status-pages'>['entries'][number]} StatusPageEntry */
/** @typedef {DataAt<'v1/maintenance-windows'>[number]} MaintenanceWindow */

/** @type {Record<IncidentEntry['severity'], Tone>} */
const severityTones = { CRITICAL: 'bad', MAJOR: 'bad', MEDIUM: 'warn', MINOR: 'warn' };
const refreshMs = 30_000;

/** @param {{ incident: IncidentEntry }} props */
function Incident({ incident }) {
  const status = incident.lastUpdateStatus;
  const tone = status === 'RESOLVED' ? 'good' : severityTones[incident.severity];
  return html`<tr>
    <td><${State} tone=${tone} word=${inWords(status)} /></td>
    <th scope="row">
      <a href=${link('incidents', incident.id)}>${incident.name}</a>
      <span class="under">
        <span>${inWords(incident.severity)}</span>
        <${Tags} tags=${incident.services.map(({ name }) => name)} />
      </span>
    </th>
    <td><${Time} at=${incident.created_at} /></td>
    <td class="right">${incident.duration === null ? '' : span(incident.duration)}</td>
  </tr>`;
}

/** @param {{ page: StatusPageEntry }} props */
function StatusPage({ page }) {
  const { name, url, customDomain, customDomainChallenge, isPrivate, cards } = page;
  const isProven = page.customDomainStatus === 'VERIFIED';
  const address = isProven
    ? `https://${customDomain}/`
    : besideConsole(`status/${encodeURIComponent(url)}`);
  const services = cards.flatMap((card) => card.services).length;
  return html`<tr>
    <th scope="row"><a href=${link('edit', 'page', page.id)}>${name}</a> ${isPrivate && html`<span class="tag">private</span>`}</th>
    <td>
      <a href=${address} rel="noopener" target="_blank"
        >${isProven ? customDomain : `/status/${url}`}</a
      >
      ${
        customDomain &&
        !isProven &&
        html`<p class="muted">
          Not served at ${customDomain} before a TXT record
          <code>${customDomainChallenge?.name}</code> says <code>${customDomainChallenge?.txt}</code>.
        </p>`
      }
    </td>
    <td>${count(cards.length, 'card')}, ${count(services, 'service')}</td>
  </tr>`;
}

/** @param {MaintenanceWindow} window */
function repeatOf({ repeatUnit, repeatInterval, repeatEndsAt }) {
  if (repeatUnit === null) return 'once';
  const unit = repeatUnit.toLowerCase();
  const how = (repeatInterval ?? 1) === 1 ? `every ${unit}` : `every ${repeatInterval} ${unit}s`;
  return html`${how}${repeatEndsAt !== null && html` until <${Time} at=${repeatEndsAt} />`}`;
}

/** @param {{ window: MaintenanceWindow }} props */
function Window({ window }) {
  const [next = window] = window.nextOccurrences ?? [];
  const [from, to] = [Date.parse(next.startsAt), Date.parse(next.endsAt)];
  const isNow = from <= Date.now() && Date.now() < to;
  const word = isNow ? 'In effect' : to <= Date.now() ? 'Over' : 'Planned';
  return html`<tr>
    <td><${State} tone=${isNow ? 'warn' : 'quiet'} word=${word} /></td>
    <th scope="row">
      <a href=${link('edit', 'window', window.id)}>${window.name}</a>
      <span class="under">
        ${window.pauseAllChecks ? 'all checks' : html`<${Tags} tags=${window.tags} />`}
      </span>
    </th>
    <td><${Time} at=${next.startsAt} /></td>
    <td class="nowrap">${span(to - from)}</td>
    <td>${repeatOf(window)}</td>
  </tr>`;
}

export function IncidentsView() {
  const incidents = useQuery('v1/status-pages/incidents', {
    query: { limit: 20 },
    everyMs: refreshMs,
  });
  const pages = useQuery('v1/status-pages', { query: { limit: 50 } });
  const windows = useQuery('v1/maintenance-windows', { query: { limit: 100 }, everyMs: refreshMs });
  const { mayWrite } = useMe();
  const [refused] = useState(() => takeOnce('page'));
  const adding = (/** @type {string} */ name, /** @type {string} */ word, kind = '') =>
    mayWrite && html`<a class=${`button ${kind}`} href=${link('new', name)}>${word}</a>`;
  return html`<div class="title-line">
      <h1>Incidents</h1>
      <div class="actions">${adding('incident', 'New incident', 'primary')}</div>
    </div>
    ${refused !== null && html`<p class="notice failure" role="alert">${refused}</p>`}
    ${List({
      read: incidents,
      label: 'Incidents',
      columns: ['Status', 'Incident', 'Began', ['Lasted', 'right']],
      pick: entriesOf,
      row: (one) => html`<${Incident} key=${one.id} incident=${one} />`,
      empty: html`<${Empty} title="No incidents">
        A check can open one by itself: see “Opens an incident” in its settings.
      <//>`,
    })}
    <${Section} title="Status pages" aside=${adding('page', 'New status page')}>
      ${List({
        read: pages,
        label: 'Status pages',
        columns: ['Page', 'Address', 'Shows'],
        pick: entriesOf,
        row: (page) => html`<${StatusPage} key=${page.id} page=${page} />`,
        empty: html`<${Empty} title="No status pages" />`,
      })}
    <//>
    <${Section} title="Maintenance" aside=${adding('window', 'New maintenance window')}>
      ${List({
        read: windows,
        label: 'Maintenance windows',
        columns: ['State', 'Window', 'Next begins', 'Lasts', 'Repeats'],
        pick: allOf,
        row: (window) => html`<${Window} key=${window.id} window=${window} />`,
        empty: html`<${Empty} title="No maintenance is planned">
          During maintenance checks with its tags do not run on schedule, and nobody is notified.
        <//>`,
      })}
    <//>`;
}
