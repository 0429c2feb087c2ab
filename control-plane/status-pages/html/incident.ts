/** Incidents in lists and on their own page. */
import type { IncidentView, UpdateView } from '../view/incidents.ts';
import { stateWords } from '../view/states.ts';
import type { StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document, type Place } from './document.ts';
import { html, type Markup } from '../../core/html.ts';
import { icon, iconSymbols, rank } from './icons.ts';
import {
  durationWords,
  listWords,
  excerpt,
  prose,
  rangeWords,
  time,
  wordsOfStatus,
} from './text.ts';

/** Visible updates of an open incident; the others are collapsed. */
const seenAtOnce = 3;
const seenOnDemand = 20;

function listOf(updates: readonly UpdateView[], isWhole = false): Markup {
  return html`<ol class="updates">
    ${updates.map(
      ({ status, description, publicAt }) =>
        html`<li>
          <strong>${wordsOfStatus(status)}</strong> <span class="muted">· ${time(publicAt)}</span>
          <div class="prose">${prose(isWhole ? description : excerpt(description))}</div>
        </li>`,
    )}
  </ol>`;
}

/** Severity, affected services and duration of an incident. */
function facts(incident: IncidentView): Markup {
  const names = incident.services.map(({ name }) => name);
  const lasted =
    incident.endedAt === null
      ? html`since ${time(incident.startedAt)}, ${durationWords(incident.durationMs)} so far`
      : html`${rangeWords(incident.startedAt, incident.endedAt)},
        ${durationWords(incident.durationMs)}`;
  return html`<p class="muted facts">
    ${stateWords(incident.state)} of ${listWords(names)} · ${lasted}
  </p>`;
}

function heading(incident: IncidentView, base: string, level: 2 | 3): Markup {
  const words = incident.isOpen ? wordsOfStatus(incident.status) : 'Resolved';
  const link = html`<a href="${base}/incidents/${incident.id}">${incident.name}</a>`;
  return html`<div class="row">
    ${level === 2 ? html`<h2 class="name">${link}</h2>` : html`<h3 class="name">${link}</h3>`}
    <span class="state ${incident.isOpen && `w${rank(incident.state)}`}"
      >${icon(incident.isOpen ? incident.state : 'operational')}${words}</span
    >
  </div>`;
}

/** An open incident with its newest updates; the others are collapsed. */
export function openIncident(incident: IncidentView, base: string): Markup {
  const older = incident.updates.slice(seenAtOnce, seenAtOnce + seenOnDemand);
  const isCut = incident.updates.length > seenAtOnce + seenOnDemand;
  return html`<article class="panel edge${rank(incident.state)}">
    ${heading(incident, base, 3)}${facts(incident)}${listOf(incident.updates.slice(0, seenAtOnce))}${
      older.length > 0 &&
      html`<details>
        <summary>Earlier updates (${incident.updates.length - seenAtOnce})</summary>
        ${listOf(older)}${
          isCut && html`<p><a href="${base}/incidents/${incident.id}">All updates</a></p>`
        }
      </details>`
    }
  </article>`;
}

/** A past incident with its last update and a link. */
export function pastIncident(incident: IncidentView, base: string): Markup {
  const [last] = incident.updates;
  return html`<article class="panel">
    ${heading(incident, base, 3)}${facts(incident)}
    <div class="prose">${last !== undefined && prose(excerpt(last.description))}</div>
  </article>`;
}

/** The page of one incident. */
export function incidentPage(
  view: StatusPageView,
  incident: IncidentView,
  place: Place,
  canSubscribe: boolean,
): Representation {
  const [last] = incident.updates;
  const shown = incident.isOpen ? incident.state : 'operational';
  return document({
    look: view.page,
    place,
    title: `${incident.name} – ${view.page.name}`,
    description: last?.description.slice(0, 200) ?? '',
    state: shown,
    path: `/incidents/${incident.id}`,
    isPublic: !view.page.isPrivate,
    canSubscribe,
    main: html`${iconSymbols([shown])}
      <section class="banner">
        ${icon(shown)}
        <div>
          <h1>${incident.name}</h1>
          <p>
            ${wordsOfStatus(incident.status)} · ${stateWords(incident.state)} of
            ${listWords(incident.services.map(({ name }) => name))}
          </p>
        </div>
      </section>
      <section class="panel near" aria-labelledby="updates">
        <h2 id="updates">Updates</h2>
        ${facts(incident)}${listOf(incident.updates, true)}
      </section>
      <p class="near"><a href="${place.base}/">Current status</a></p>`,
  });
}
