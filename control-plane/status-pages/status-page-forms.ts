/** Form posts of status page visitors: subscriptions, confirmations, passwords. */
import express, { type Request, type Response } from 'express';
import type { Services } from '../core/services.ts';
import { linkTo, type Place } from './html/place.ts';
import { html, type Markup } from '../core/html.ts';
import { confirmPage, loginPage, saidPage, subscribeAgainPage, webhookPage } from './html/forms.ts';
import { isPassword } from './password.ts';
import type { Representation } from '../http/representation.ts';
import { makeSession, sessionCookie, sessionMs } from './session.ts';
import type { Snapshot } from './snapshots.ts';
import { subscribe } from './subscribers/subscribe.ts';
import { unsubscribe } from './subscribers/unsubscribe.ts';
import { verify } from './subscribers/verify.ts';
import { doors } from '../core/doors.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { isSecure, visitorOf } from '../http/visitor.ts';

export interface Visit {
  request: Request;
  response: Response;
  snapshot: Snapshot;
  place: Place;
  query: URLSearchParams;
}

/** Room for every service of a large page. */
const bodyLimitBytes = 65_536;
const bodyWithinMs = 10_000;
const parseForm = express.urlencoded({ extended: false, limit: bodyLimitBytes });

/** Login attempts of one visitor, and of all visitors: key derivation is expensive. */

/** The fields of a form. Rejects an invalid, too large or too slow body. */
export function readForm({ clock }: Services, request: Request, response: Response) {
  return new Promise<Record<string, unknown>>((resolve, reject) => {
    const cancel = clock.after(bodyWithinMs, () => {
      response.setHeader('Connection', 'close');
      reject(new Error('the form took too long to arrive'));
    });
    parseForm(request, response, (error?: unknown) => {
      cancel();
      if (error === undefined) resolve((request.body ?? {}) as Record<string, unknown>);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}

const textOf = (field: unknown): string => (typeof field === 'string' ? field : '');

/** A message page that hides the name of a private page. */
function said(
  { snapshot, place }: Visit,
  title: string,
  body: Markup,
  status = 200,
): Representation {
  const look = snapshot.read.access.isPrivate ? null : snapshot.view.page;
  return saidPage({ look, place, title, body, status });
}

export function toPage(place: Place): Markup {
  return html`<p><a href="${linkTo(place, '/')}">${place.locale.texts.forms.toPage}</a></p>`;
}

/** The form for programs, and not that for mails. */
export function isWebhookForm(form: Record<string, unknown>): boolean {
  return form['url'] !== undefined;
}

function noMoreWebhooks(visit: Visit): Representation {
  const { forms, webhook } = visit.place.locale.texts;
  return said(visit, forms.tryLater, html`<p>${webhook.full}</p>`, 409);
}

/** Gives the same answer whether the address is subscribed or not. */
export async function postSubscription(
  services: Services,
  visit: Visit,
  form: Record<string, unknown>,
): Promise<Representation> {
  const { snapshot, place, request } = visit;
  const { page, cards, services: shown } = snapshot.view;
  const { forms: words, webhook } = place.locale.texts;
  const isWebhook = isWebhookForm(form);
  const chosen = [form['service'] ?? []].flat().map(textOf);
  const known = shown.filter(({ id }) => chosen.includes(id));
  const again = (problem: string) =>
    (isWebhook ? webhookPage : subscribeAgainPage)(page, { place, cards, problem, chosen });
  // All services would be more than they asked for.
  if (chosen.length > 0 && known.length === 0) return again(words.servicesGone);
  const outcome = await subscribe(services, {
    pageId: page.id,
    type: isWebhook ? 'WEBHOOK' : 'EMAIL',
    address: textOf(isWebhook ? form['url'] : form['email']).slice(0, 4_000),
    services: known.map(({ id, name }) => ({ id, name })),
    visitor: visitorOf(request),
  });
  switch (outcome) {
    case 'INVALID_ADDRESS':
      return again(isWebhook ? webhook.invalidUrl : words.invalidAddress);
    case 'FULL':
      return noMoreWebhooks(visit);
    case 'TOO_MANY':
      return said(visit, words.tryLater, html`<p>${words.tooManyRequests}</p>`, 429);
    case 'SENT':
      return said(
        visit,
        isWebhook ? webhook.checkRequests : words.checkMail,
        html`<p>${isWebhook ? webhook.requestSent : words.mailSent}</p>
          ${toPage(place)}`,
      );
  }
}

/** The confirmation page for a link in a mail. */
export function askToConfirmLink(visit: Visit, what: 'verify' | 'unsubscribe'): Representation {
  return confirmPage(visit.place, what, (visit.query.get('token') ?? '').slice(0, 500));
}

function outdated(visit: Visit): Representation {
  const words = visit.place.locale.texts.forms;
  return said(
    visit,
    words.linkOutdated,
    html`<p>${words.linkReplaced}</p>
      ${toPage(visit.place)}`,
    404,
  );
}

export async function postVerification(services: Services, visit: Visit): Promise<Representation> {
  const { forms: words, webhook } = visit.place.locale.texts;
  const done = await verify(services, visit.query.get('token') ?? '');
  if (done === null) return outdated(visit);
  if (done.isRefused) return noMoreWebhooks(visit);
  const { locale } = visit.place;
  const names = visit.snapshot.view.services
    .filter(({ id }) => done.serviceIds.includes(id))
    .map(({ name }) => name);
  return said(
    visit,
    words.subscribed,
    html`<p>${words.willGetUpdates}</p>
      ${
        done.secret !== null &&
        html`<p>${webhook.secret}</p>
          <p><code dir="ltr">${done.secret}</code></p>`
      }
      ${names.length > 0 && html`<p>${locale.texts.mail.onlyAbout(locale.list(names))}</p>`}
      ${toPage(visit.place)}`,
  );
}

export async function postUnsubscription(
  services: Services,
  visit: Visit,
): Promise<Representation> {
  const done = await unsubscribe(services, visit.query.get('token') ?? '');
  if (done === null) return outdated(visit);
  const words = visit.place.locale.texts.forms;
  return said(visit, words.unsubscribed, html`<p>${words.noMoreUpdates}</p>`);
}

function setSession(visit: Visit, value: string, maxAgeMs: number, publicUrl: string): void {
  const { request, response, place } = visit;
  response.setHeader(
    'Set-Cookie',
    [
      `${sessionCookie}=${value}`,
      `Path=${place.base === '' ? '/' : place.base}`,
      `Max-Age=${Math.floor(maxAgeMs / 1000)}`,
      'HttpOnly',
      'SameSite=Lax',
      ...(isSecure(request, publicUrl) ? ['Secure'] : []),
    ].join('; '),
  );
}

function backToPage({ response, place }: Visit): null {
  response.setHeader('Location', linkTo(place, '/'));
  response.setHeader('Cache-Control', 'no-store');
  response.statusCode = 303;
  response.end();
  return null;
}

/** Logs in to a private page. Null when the answer has been sent. */
export async function postPassword(
  services: Services,
  limiter: RateLimiter,
  visit: Visit,
  form: Record<string, unknown>,
): Promise<Representation | null> {
  const { snapshot, place, request, response } = visit;
  const { access, facts } = snapshot.read;
  if (!access.isPrivate) return backToPage(visit);
  const { id: pageId } = facts.page;
  for (const [key, limit] of [
    [`${pageId} ${visitorOf(request)}`, doors.statusPages.address.passwords],
    [pageId, doors.statusPages.account.passwordsOfPage],
  ] as const) {
    const { isAllowed, resetMs } = limiter.take(key, limit);
    if (isAllowed) continue;
    response.setHeader('Retry-After', String(Math.max(1, Math.ceil(resetMs / 1000))));
    return loginPage(place, place.locale.texts.forms.tooManyAttempts, 429);
  }
  const password = textOf(form['password']).trim();
  if (access.passwordHash === null || !(await isPassword(password, access.passwordHash))) {
    return loginPage(place, place.locale.texts.forms.wrongPassword);
  }
  const { passwordVersion } = access;
  const key = services.secrets.deriveKey('status-page-session');
  const token = makeSession(key, { pageId, passwordVersion }, services.clock.now());
  setSession(visit, token, sessionMs, services.publicUrl);
  return backToPage(visit);
}

/** Deletes the session of this browser. */
export function postSignOut(services: Services, visit: Visit): null {
  setSession(visit, '', 0, services.publicUrl);
  return backToPage(visit);
}
