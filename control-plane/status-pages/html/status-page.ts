/** The main page. */
import { type Locale, localeOf } from '../languages/locale.ts';
import { isKnown, knownState, serviceStates } from '../view/states.ts';
import type { CardView, ServiceView, StatusPageView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document } from './document.ts';
import { html, Markup } from '../../core/html.ts';
import { chosenInputs, subscribeForm } from './forms.ts';
import { icon, iconSymbols, stateLabel } from './icons.ts';
import { openIncident, pastIncident } from './incident.ts';
import { noticePanel, noticesToShow } from './notices.ts';
import { anchorOf, linkTo, type Place } from './place.ts';
import { slackLines } from './slack.ts';
import { prose } from './text.ts';
import { quietDays, uptimeBars } from './uptime-bars.ts';

const pastMs = 14 * 86_400_000;
const maxPast = 20;
const maxNamed = 4;

interface StatusPageParts {
  place: Place;
  /** True when mails can be sent. */
  canSubscribe: boolean;
  /** What a visitor looks for among the services. */
  find?: string | undefined;
}

/** `99.98% uptime`; for a young service with the first counted day. */
function uptimeSince(
  { uptime, countedSince }: Pick<CardView, 'uptime' | 'countedSince'>,
  locale: Locale,
): string {
  const words = locale.texts.uptime;
  const percent = locale.uptime(uptime);
  if (uptime === null) return percent;
  return countedSince === null
    ? words.share(percent)
    : words.shareSince(percent, locale.day(countedSince));
}

/** Pages with more services can be searched, and fold their longer cards. */
const longPage = 20;
const longCard = 8;

/** What all cards of a document share. `byDay` has the time zone of the page, for its days. */
interface CardContext {
  byDay: Locale;
  folds: boolean;
}

function labelOf(shown: Pick<ServiceView, 'state' | 'isMeasured'>, locale: Locale): Markup {
  return isKnown(shown)
    ? stateLabel(locale, shown.state)
    : html`<span class="muted">${locale.texts.notMeasured}</span>`;
}

function serviceRow(service: ServiceView, { byDay }: CardContext): Markup {
  const anchor = anchorOf(service);
  return html`<li id="${anchor}">
    <div class="row">
      <a class="name" href="#${anchor}"><b>${service.name}</b></a
      >${labelOf(service, byDay)}
    </div>
    ${
      !service.isMeasured &&
      service.state !== 'operational' &&
      html`<p class="muted">${byDay.texts.notMeasured}</p>`
    }
    ${uptimeBars(service, byDay)}
    <p class="scale" aria-hidden="true"><span>${uptimeSince(service, byDay)}</span></p>
  </li>`;
}

function cardPanel(card: CardView, context: CardContext): Markup {
  const { byDay } = context;
  const heading = html`<h2 id="card-${card.id}">${card.name}</h2>
    ${card.uptime !== null && html`<span class="muted">${uptimeSince(card, byDay)}</span>`}`;
  const services =
    card.services.length > 0 &&
    html`<ul class="services">
      ${card.services.map((service) => serviceRow(service, context))}
    </ul>`;
  const isFolded = context.folds && card.services.length > longCard;
  return html`<section class="panel" aria-labelledby="card-${card.id}">
    ${
      isFolded
        ? html`<details class="fold" ${card.state !== 'operational' && new Markup('open')}>
            <summary>
              <div class="row">${heading}${labelOf(card, byDay)}</div>
            </summary>
            ${services}
          </details>`
        : html`<div class="row">${heading}</div>
            ${services}`
    }
  </section>`;
}

/** Works without a script: the page answers with the services that were found. */
function searchForm({ place, find }: Pick<StatusPageParts, 'place' | 'find'>): Markup {
  const word = place.locale.texts.page.find;
  return html`<form class="fields near" role="search" method="get" action="${place.base}/">
    ${chosenInputs(place)}
    <label>${word}<input type="search" name="q" value="${find ?? ''}" maxlength="100" /></label>
    <button class="button">${word}</button>
  </form>`;
}

/** The cards with the services whose names have a text. */
function found(cards: readonly CardView[], text: string): CardView[] {
  const wanted = text.toLocaleLowerCase();
  return cards.flatMap((card) => {
    const services = card.services.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
    return services.length === 0 ? [] : [{ ...card, services }];
  });
}

/** The definition of the uptime, on demand. */
function uptimeHelp({ texts }: Locale): Markup {
  return html`<details class="help near">
    <summary>${texts.uptime.help}</summary>
    <p class="muted">${texts.uptime.definition}</p>
  </details>`;
}

/** A sentence about the affected services. */
function affected({ services, state }: StatusPageView, locale: Locale): string {
  const names = services.filter((service) => service.state === state).map(({ name }) => name);
  if (state === 'operational' || names.length === 0) return '';
  if (names.length > maxNamed) return locale.texts.page.affected(names.length, services.length);
  return locale.list(names);
}

function banner(view: StatusPageView, locale: Locale): Markup {
  const words = locale.texts.page;
  const names = affected(view, locale);
  return html`<section
    class="banner ${!isKnown(view) && 'unknown'}"
    aria-label="${words.currentStatus}"
  >
    ${isKnown(view) && icon(view.state)}
    <div>
      <h1>${locale.headline(view)}</h1>
      <p>
        ${names !== '' && html`${names} · `}${words.asOf(locale.time(Math.floor(view.at / 60_000) * 60_000))}
      </p>
    </div>
  </section>`;
}

function pastSection(view: StatusPageView, place: Place): Markup {
  const words = place.locale.texts.page;
  const past = view.pastIncidents.filter(({ endedAt }) => (endedAt ?? 0) >= view.at - pastMs);
  return html`<section aria-labelledby="past">
    <div class="row">
      <h2 id="past">${words.pastIncidents}</h2>
      <a href="${linkTo(place, '/history')}">${words.history}</a>
    </div>
    ${
      past.length === 0
        ? html`<p class="muted">${words.noPastIncidents}</p>`
        : html`<div class="panels">
            ${past.slice(0, maxPast).map((incident) => pastIncident(incident, place))}
          </div>`
    }
  </section>`;
}

function footerOf(view: StatusPageView, place: Place): Markup {
  const words = place.locale.texts.frame;
  const times = html`<span
    >${words.timesIn(place.locale.timezone)}
    <a href="${linkTo(place, '/time-zone')}">${words.changeZone}</a></span
  >`;
  if (view.page.isPrivate) {
    return html`${times}
      <form method="post" action="${linkTo(place, '/session/end')}">
        <button class="button">${words.signOut}</button>
      </form>`;
  }
  const links = [
    ['/feed.rss', 'RSS'],
    ['/feed.atom', 'Atom'],
    ['/feed.json', 'JSON Feed'],
    ['/maintenance.ics', words.calendar],
    ['/api/v2/summary.json', 'API'],
  ] as const;
  return html`${times}<span
      >${links.map(
        ([path, name], index) =>
          html`${index > 0 && ' · '}<a href="${linkTo(place, path)}">${name}</a>`,
      )}</span
    >`;
}

/** The page at this instant. */
export function statusPage(
  view: StatusPageView,
  { place, canSubscribe, find }: StatusPageParts,
): Representation {
  const { page, services, openIncidents } = view;
  const { locale } = place;
  const words = locale.texts.page;
  const notices = noticesToShow(view.notices, view.at);
  const [first] = services;
  const headline = locale.headline(view);
  // Bars are days of the page, wherever its visitor is.
  const byDay = localeOf(locale.language, page.timezone);
  const isLong = services.length > longPage;
  const context = { byDay, folds: isLong && find === undefined };
  const cards = find === undefined ? view.cards : found(view.cards, find);
  const shown = cards.reduce((sum, card) => sum + card.services.length, 0);
  return document({
    look: page,
    place,
    title: `${headline} – ${page.name}`,
    description: page.description ?? words.description(headline, page.name),
    state: knownState(view),
    path: '/',
    isPublic: !page.isPrivate,
    canSubscribe,
    main: html`${iconSymbols(serviceStates)}${first !== undefined && quietDays(first.days, byDay)}
    ${banner(view, locale)}
    ${page.description !== null && html`<div class="prose near">${prose(page.description)}</div>`}
    ${
      openIncidents.length > 0 &&
      html`<section aria-labelledby="open">
        <h2 id="open">${words.openIncidents}</h2>
        <div class="panels">${openIncidents.map((incident) => openIncident(incident, place))}</div>
      </section>`
    }
    ${
      notices.length > 0 &&
      html`<section aria-labelledby="maintenance">
        <h2 id="maintenance">${words.maintenance}</h2>
        <div class="panels">${notices.map((notice) => noticePanel(notice, locale))}</div>
      </section>`
    }
    ${isLong && searchForm({ place, find })}
    ${find !== undefined && html`<p role="status">${words.affected(shown, services.length)}</p>`}
    ${cards.length > 0 && html`<div class="panels">${cards.map((card) => cardPanel(card, context))}</div>`}
    ${services.length > 0 && uptimeHelp(locale)}
    ${pastSection(view, place)}${canSubscribe && subscribeForm({ place, cards: view.cards })}
    ${
      /* Programs know no password. */ !page.isPrivate &&
      html`${slackLines(place, services)}
        <p>
          <a href="${linkTo(place, '/subscriptions/webhook')}">${locale.texts.webhook.updates}</a>
        </p>`
    }`,
    footer: footerOf(view, place),
  });
}
