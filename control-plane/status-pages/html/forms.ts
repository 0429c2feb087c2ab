/** Forms of status pages, and the pages that answer them. */
import type { PageLook } from '../view/facts.ts';
import type { CardView } from '../view/view.ts';
import type { Representation } from '../../http/representation.ts';
import { document } from './document.ts';
import { linkTo, type Place } from './place.ts';
import { html, Markup } from '../../core/html.ts';

/** The cards of a page, and what a visitor has sent that needs correction. */
interface SubscribeParts {
  place: Place;
  cards: readonly CardView[];
  problem?: string;
  /** Ids of services. */
  chosen?: readonly string[];
}

/** What a visitor has chosen, for forms that lead back to a page. */
export const chosenInputs = ({ chosen }: Place): Markup[] =>
  Object.entries(chosen).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
  );

/** Checkboxes for the services, by card; a page with one service offers no choice. */
function serviceChoice({ place, cards, chosen = [] }: SubscribeParts): Markup | false {
  const words = place.locale.texts.forms;
  if (new Set(cards.flatMap(({ services }) => services.map(({ id }) => id))).size < 2) return false;
  return html`<details class="choice" ${chosen.length > 0 && new Markup('open')}>
    <summary>${words.onlySome}</summary>
    <p class="muted facts">${words.allOtherwise}</p>
    ${cards.map(
      ({ name, services }) =>
        services.length > 0 &&
        html`<fieldset>
          <legend>${name}</legend>
          ${services.map(
            (service) =>
              html`<label
                ><input
                  type="checkbox"
                  name="service"
                  value="${service.id}"
                  ${chosen.includes(service.id) && new Markup('checked')}
                /><bdi>${service.name}</bdi></label
              >`,
          )}
        </fieldset>`,
    )}
  </details>`;
}

/** The subscription form. */
export function subscribeForm(parts: SubscribeParts): Markup {
  const { place, problem } = parts;
  const words = place.locale.texts.forms;
  return html`<section id="subscribe" class="panel subscribe" aria-labelledby="subscribe-title">
    <h2 id="subscribe-title">${words.updatesByMail}</h2>
    <p class="muted facts">${words.aboutMails}</p>
    ${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
    <form class="fields" method="post" action="${linkTo(place, '/subscriptions')}">
      <label
        >${words.address}<input
          type="email"
          name="email"
          required
          maxlength="320"
          autocomplete="email"
      /></label>
      ${serviceChoice(parts)}
      <button class="button">${words.subscribe}</button>
    </form>
  </section>`;
}

interface Said {
  /** Null for visitors who may not know which page it is. */
  look: PageLook | null;
  place: Place;
  title: string;
  body: Markup;
  status?: number;
}

/** A page with a single message. */
export function saidPage({ look, place, title, body, status }: Said): Representation {
  return document({
    look,
    place,
    title: look === null ? title : `${title} – ${look.name}`,
    path: null,
    isPublic: false,
    main: html`<section class="panel narrow">
      <h1>${title}</h1>
      ${body}
    </section>`,
    ...(status === undefined ? {} : { status }),
  });
}

/** The login of a private page. It does not reveal which page it is. */
export function loginPage(place: Place, problem?: string, status = 401): Representation {
  const words = place.locale.texts.forms;
  return saidPage({
    look: null,
    place,
    title: words.privatePage,
    status,
    body: html`<p>${words.enterPassword}</p>
      ${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
      <form class="fields" method="post" action="${linkTo(place, '/session')}">
        <label
          >${words.password}<input
            type="password"
            name="password"
            required
            maxlength="200"
            autocomplete="current-password"
        /></label>
        <button class="button">${words.continue}</button>
      </form>`,
  });
}

/** The subscription form on a separate page, to correct what was sent. */
export function subscribeAgainPage(look: PageLook, parts: SubscribeParts): Representation {
  const { place } = parts;
  const words = place.locale.texts.forms;
  return document({
    look,
    place,
    title: `${words.subscribe} – ${look.name}`,
    path: null,
    isPublic: false,
    status: 400,
    main: html`<h1>${words.subscribe}</h1>
      ${subscribeForm(parts)}`,
  });
}

/** The form for programs; the URL is asked to confirm. */
export function webhookPage(look: PageLook, parts: SubscribeParts): Representation {
  const { place, problem } = parts;
  const { forms, webhook } = place.locale.texts;
  return saidPage({
    look,
    place,
    title: webhook.updates,
    ...(problem === undefined ? {} : { status: 400 }),
    body: html`<p>${webhook.howTo}</p>
      ${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
      <form class="fields" method="post" action="${linkTo(place, '/subscriptions')}">
        <label
          >${webhook.url}<input
            type="url"
            name="url"
            required
            maxlength="2000"
            pattern="https://.*"
            placeholder="https://"
            dir="ltr"
        /></label>
        ${serviceChoice(parts)}
        <button class="button">${forms.subscribe}</button>
      </form>`,
  });
}

/** Asks for confirmation: mail scanners follow links, but press no buttons. */
export function confirmPage(
  place: Place,
  what: 'verify' | 'unsubscribe',
  token: string,
): Representation {
  const words = place.locale.texts.forms;
  const isVerify = what === 'verify';
  return saidPage({
    look: null,
    place,
    title: isVerify ? words.confirmTitle : words.unsubscribe,
    body: html`<p>${isVerify ? words.willGetUpdates : words.willGetNoUpdates}</p>
      <form
        class="fields"
        method="post"
        action="${linkTo(place, `/subscriptions/${what}`, { token })}"
      >
        <button class="button">${isVerify ? words.confirm : words.unsubscribe}</button>
      </form>`,
  });
}

/** The 404 page of an unknown page or path. */
export function notFoundPage(place: Place, look: PageLook | null): Representation {
  const words = place.locale.texts.errors;
  return saidPage({
    look,
    place,
    title: words.nothingHere,
    status: 404,
    body:
      look === null
        ? html`<p>${words.noSuchPage}</p>`
        : html`<p><a href="${linkTo(place, '/')}">${words.seeStatus}</a></p>`,
  });
}
