/** Forms of status pages, and the pages that answer them. */
import type { PageLook } from '../view/facts.ts';
import type { Representation } from '../../http/representation.ts';
import { document, type Place } from './document.ts';
import { html, type Markup } from '../../core/html.ts';

/** The subscription form. */
export function subscribeForm(base: string, problem?: string): Markup {
  return html`<section id="subscribe" class="panel subscribe" aria-labelledby="subscribe-title">
    <h2 id="subscribe-title">Get updates by e-mail</h2>
    <p class="muted facts">
      A mail for every update of an incident. You can stop them with one click.
    </p>
    ${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
    <form class="fields" method="post" action="${base}/subscriptions">
      <label
        >E-mail address<input
          type="email"
          name="email"
          required
          maxlength="320"
          autocomplete="email"
      /></label>
      <button class="button">Subscribe</button>
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
  return saidPage({
    look: null,
    place,
    title: 'This page is private',
    status,
    body: html`<p>Enter its password to go on.</p>
      ${problem !== undefined && html`<p class="error" role="alert">${problem}</p>`}
      <form class="fields" method="post" action="${place.base}/session">
        <label
          >Password<input
            type="password"
            name="password"
            required
            maxlength="200"
            autocomplete="current-password"
        /></label>
        <button class="button">Continue</button>
      </form>`,
  });
}

/** The subscription form on a separate page, after an invalid address. */
export function subscribeAgainPage(look: PageLook, place: Place, problem: string): Representation {
  return document({
    look,
    place,
    title: `Subscribe – ${look.name}`,
    path: null,
    isPublic: false,
    status: 400,
    main: html`<h1>Subscribe</h1>
      ${subscribeForm(place.base, problem)}`,
  });
}

/** Asks for confirmation: mail scanners follow links, but press no buttons. */
export function confirmPage(
  place: Place,
  what: 'verify' | 'unsubscribe',
  token: string,
): Representation {
  const isVerify = what === 'verify';
  return saidPage({
    look: null,
    place,
    title: isVerify ? 'Confirm your subscription' : 'Unsubscribe',
    body: html`<p>
        ${
          isVerify
            ? 'You will get a mail for every update of an incident.'
            : 'You will get no more mails about this status page.'
        }
      </p>
      <form
        class="fields"
        method="post"
        action="${place.base}/subscriptions/${what}?token=${encodeURIComponent(token)}"
      >
        <button class="button">${isVerify ? 'Confirm' : 'Unsubscribe'}</button>
      </form>`,
  });
}

/** The 404 page of an unknown page or path. */
export function notFoundPage(place: Place, look: PageLook | null): Representation {
  return saidPage({
    look,
    place,
    title: 'There is nothing here',
    status: 404,
    body:
      look === null
        ? html`<p>No status page has this address.</p>`
        : html`<p><a href="${place.base}/">See the current status</a></p>`,
  });
}
