/** Incidents in lists and on their own page. */
import type { Locale } from '../languages/locale.ts';
import type { IncidentView, UpdateView } from '../view/incidents.ts';
import type { StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document } from './document.ts';
import { html, type Markup } from '../../core/html.ts';
import { icon, iconSymbols, rank } from './icons.ts';
import { linkTo, type Place } from './place.ts';
import { excerpt, prose } from './text.ts';

/** Visible updates of an open incident; the others are collapsed. */
const seenAtOnce = 3;
const seenOnDemand = 20;

function listOf(updates: readonly UpdateView[], locale: Locale, isWhole = false): Markup {
  return html`<ol class="updates">
    ${updates.map(
      ({ status, description, publicAt }) =>
        html`<li>
          <strong>${locale.status(status)}</strong>${' '}<span class="muted"
            >· ${locale.time(publicAt)}</span
          >
          <div class="prose">${prose(isWhole ? description : excerpt(description))}</div>
        </li>`,
    )}
  </ol>`;
}

/** `Partial outage of Search`. */
function affected({ state, services }: IncidentView, locale: Locale): string {
  return locale.texts.incident.of(
    locale.state(state),
    locale.list(services.map(({ name }) => name)),
  );
}

/** Severity, affected services and duration of an incident. */
function facts(incident: IncidentView, locale: Locale): Markup {
  const words = locale.texts.incident;
  const duration = locale.duration(incident.durationMs);
  const lasted =
    incident.endedAt === null
      ? words.soFar(locale.time(incident.startedAt), duration)
      : html`${locale.range(incident.startedAt, incident.endedAt)} · ${duration}`;
  return html`<p class="muted facts">${affected(incident, locale)} · ${lasted}</p>`;
}

function heading(incident: IncidentView, place: Place): Markup {
  const words = place.locale.status(incident.isOpen ? incident.status : 'RESOLVED');
  const link = linkTo(place, `/incidents/${incident.id}`);
  return html`<div class="row">
    <h3 class="name"><a href="${link}">${incident.name}</a></h3>
    <span class="state ${incident.isOpen && `w${rank(incident.state)}`}"
      >${icon(incident.isOpen ? incident.state : 'operational')}${words}</span
    >
  </div>`;
}

/** An open incident with its newest updates; the others are collapsed. */
export function openIncident(incident: IncidentView, place: Place): Markup {
  const { locale } = place;
  const words = locale.texts.incident;
  const older = incident.updates.slice(seenAtOnce, seenAtOnce + seenOnDemand);
  const isCut = incident.updates.length > seenAtOnce + seenOnDemand;
  return html`<article class="panel edge${rank(incident.state)}">
    ${heading(incident, place)}${facts(incident, locale)}${listOf(incident.updates.slice(0, seenAtOnce), locale)}${
      older.length > 0 &&
      html`<details>
        <summary>${words.earlierUpdates(incident.updates.length - seenAtOnce)}</summary>
        ${listOf(older, locale)}${
          isCut &&
          html`<p>
            <a href="${linkTo(place, `/incidents/${incident.id}`)}">${words.allUpdates}</a>
          </p>`
        }
      </details>`
    }
  </article>`;
}

/** A past incident with its last update and a link. */
export function pastIncident(incident: IncidentView, place: Place): Markup {
  const [last] = incident.updates;
  return html`<article class="panel">
    ${heading(incident, place)}${facts(incident, place.locale)}
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
  const { locale } = place;
  const words = locale.texts.incident;
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
          <p>${locale.status(incident.status)} · ${affected(incident, locale)}</p>
        </div>
      </section>
      <section class="panel near" aria-labelledby="updates">
        <h2 id="updates">${words.updates}</h2>
        ${facts(incident, locale)}${listOf(incident.updates, locale, true)}
      </section>
      <p class="near"><a href="${linkTo(place, '/')}">${words.currentStatus}</a></p>`,
  });
}
