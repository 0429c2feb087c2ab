/**
 * Serves status pages to visitors: under `/status/{url}` and at `/` of their custom domains
 * (`locate.ts`).
 */
import type { Request, RequestHandler, Response } from 'express';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { publicAddressOf } from './decide/status-page-address.ts';
import type { Services } from '../core/services.ts';
import { documentAt } from './documents.ts';
import { html } from '../core/html.ts';
import { choicesOf, choicesOfPage, isForPrograms } from './choices.ts';
import type { Place } from './html/place.ts';
import { loginPage, notFoundPage, saidPage } from './html/forms.ts';
import { byHost, byPath, hostName, type Candidate } from './locate.ts';
import type { Representation } from '../http/representation.ts';
import { isSession, sessionsIn } from './session.ts';
import { pathOfLink } from './subscribers/page-of-link.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';
import { doors } from '../core/doors.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import { visitorOf } from '../http/visitor.ts';
import { sendRepresentation } from '../http/send-representation.ts';
import {
  askToConfirmLink,
  isWebhookForm,
  postPassword,
  postSignOut,
  postSubscription,
  postUnsubscription,
  postVerification,
  readForm,
  toPage,
  type Visit,
} from './status-page-forms.ts';

interface StatusPageParts {
  services: Services;
  snapshots: Snapshots;
  /** True when mails can be sent to subscribers. */
  canSubscribe: boolean;
  /** The listen host, which requests may use. */
  host: string;
  /** Limit of database look-ups per visitor. */
  lookUps?: RateLimit;
}

/** Paths of links in mails: they contain a token and need no password. */
const tokenPaths: Record<string, 'verify' | 'unsubscribe'> = {
  '/subscriptions/verify': 'verify',
  '/subscriptions/unsubscribe': 'unsubscribe',
};
const formPaths = ['/subscriptions', '/session', '/session/end', ...Object.keys(tokenPaths)];

function isLookedUp({ view }: Snapshot, rest: string, { chosen }: Place): boolean {
  // There are hundreds of time zones: a document for each is not kept for long.
  if (chosen.timezone !== undefined) return true;
  if (rest.startsWith('/history')) return true;
  if (!rest.startsWith('/incidents/')) return false;
  const id = rest.slice('/incidents/'.length).replace(/\/$/, '');
  return ![...view.openIncidents, ...view.pastIncidents].some((known) => known.id === id);
}

/** Nobody chose the language of a page that does not exist. */
const unknownPage = choicesOfPage({
  language: 'en',
  languages: [],
  timezone: 'UTC',
});

/** Pings, triggers and agents are served on every host, even on custom domains. */
const machinePath = /^\/(ping|v1\/agent|checks\/[^/]+\/trigger|check-groups\/[^/]+\/trigger)\//;

/** Whether nobody needs a password there, or the visitor has given it. */
function maySee(sessionKey: Buffer, now: number, { request, snapshot }: Visit): boolean {
  const { access, facts } = snapshot.read;
  if (!access.isPrivate) return true;
  const opened = { pageId: facts.page.id, passwordVersion: access.passwordVersion };
  return sessionsIn(request.headers.cookie).some((token) =>
    isSession(sessionKey, opened, token, now),
  );
}

/** Null when the answer has been sent. */
function askForPassword({ response, place }: Visit, rest: string): Representation | null {
  if (!isForPrograms(rest)) return loginPage(place);
  response.status(401).set('Cache-Control', 'no-store').json({ error: 'private' });
  return null;
}

/** A page that says why the request was refused. */
const refusalPage = (place: Place, why: 'notAllowed' | 'unreadable', status: number) =>
  saidPage({
    look: null,
    place,
    title: place.locale.texts.errors[why],
    body: toPage(place),
    status,
  });

function notAllowed({ response, place }: Visit, allow: string): Representation {
  response.setHeader('Allow', allow);
  return refusalPage(place, 'notAllowed', 405);
}

/** The middleware that serves all status pages. */
export function serveStatusPages(parts: StatusPageParts): RequestHandler {
  const { services, snapshots, canSubscribe, lookUps = doors.statusPages.address.lookUps } = parts;
  const { publicUrl, clock, readPool, secrets } = services;
  const { hostname, pathname } = new URL(publicUrl);
  const prefix = pathname.replace(/\/$/, '');
  const ownHosts = new Set([hostname.toLowerCase(), parts.host.toLowerCase()]);
  const limiter = new RateLimiter(() => clock.monotonic());
  const sessionKey = secrets.deriveKey('status-page-session');

  /** Null when the visitor may make a look-up, which is counted; otherwise the refusal. */
  const tooMany = (request: Request, response: Response, place: Place): Representation | null => {
    const key = `look-ups ${visitorOf(request)}`;
    const { isAllowed, resetMs } = limiter.take(key, lookUps);
    if (isAllowed) return null;
    response.setHeader('Retry-After', String(Math.max(1, Math.ceil(resetMs / 1000))));
    return saidPage({
      look: null,
      place,
      title: place.locale.texts.errors.tryInAMinute,
      body: html`<p>${place.locale.texts.errors.tooManyFromAddress}</p>`,
      status: 429,
    });
  };

  /** Null when the answer has been sent. */
  const read = async (visit: Visit, rest: string): Promise<Representation | null> => {
    const { request, snapshot, place, query } = visit;
    const what = tokenPaths[rest];
    if (what !== undefined) return askToConfirmLink(visit, what);
    if (!maySee(sessionKey, clock.now(), visit)) return askForPassword(visit, rest);
    if (formPaths.includes(rest)) return notAllowed(visit, 'POST');
    if (isLookedUp(snapshot, rest, place)) {
      const refusal = tooMany(request, visit.response, place);
      if (refusal !== null) return refusal;
    }
    const found = await documentAt({
      ...{ snapshot, place, canSubscribe, rest, query },
      read: (work) => readPool.read(snapshot.read.accountId, work),
    });
    return found ?? notFoundPage(place, snapshot.view.page);
  };

  const change = async (visit: Visit, rest: string): Promise<Representation | null> => {
    const { request, response, snapshot } = visit;
    if (!formPaths.includes(rest)) return notAllowed(visit, 'GET, HEAD');
    const form = await readForm(services, request, response).catch(() => undefined);
    if (form === undefined) {
      return refusalPage(visit.place, 'unreadable', 400);
    }
    if (rest === '/subscriptions/verify') return postVerification(services, visit);
    if (rest === '/subscriptions/unsubscribe') return postUnsubscription(services, visit);
    if (rest === '/session') return postPassword(services, limiter, visit, form);
    if (rest === '/session/end') return postSignOut(services, visit);
    if (!maySee(sessionKey, clock.now(), visit)) return loginPage(visit.place);
    const isOffered = isWebhookForm(form) ? !snapshot.read.access.isPrivate : canSubscribe;
    if (!isOffered) return notFoundPage(visit.place, snapshot.view.page);
    return postSubscription(services, visit, form);
  };

  const serve = async (
    request: Request,
    response: Response,
    { base, rest }: Candidate,
    snapshot: Snapshot,
  ): Promise<void> => {
    const { page } = snapshot.view;
    const mark = request.url.indexOf('?');
    const query = new URLSearchParams(mark === -1 ? '' : request.url.slice(mark + 1));
    const { variesByLanguage, ...choices } = choicesOf(page, { request, query, path: rest });
    if (variesByLanguage) response.vary('Accept-Language');
    const place = { base, address: publicAddressOf(page, publicUrl), ...choices };
    const visit: Visit = { request, response, snapshot, place, query };
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const answer = isRead
      ? await read(visit, rest)
      : request.method === 'POST'
        ? await change(visit, rest)
        : notAllowed(visit, 'GET, HEAD, POST');
    if (answer !== null) sendRepresentation(request, response, answer, page.isPrivate);
  };

  /** Serves a link of a mail whose page has another address by now; false for any other address. */
  const serveLink = async (
    request: Request,
    response: Response,
    { rest }: Candidate,
  ): Promise<boolean> => {
    const what = tokenPaths[rest];
    const { token } = request.query;
    if (what === undefined || typeof token !== 'string') return false;
    const slug = await pathOfLink(services, what, token);
    const found = slug === undefined ? null : byPath(`/status/${slug}${rest}`, prefix);
    const snapshot = found === null ? null : await snapshots.get(found.address);
    if (found === null || snapshot === null) return false;
    await serve(request, response, found, snapshot);
    return true;
  };

  return async (request, response, next) => {
    const { path } = request;
    if (machinePath.test(path)) {
      next();
      return;
    }
    const own = byHost(hostName(request.headers.host), path, ownHosts);
    if (own !== null) {
      const known = snapshots.peek(own.address);
      const snapshot = known === undefined ? await snapshots.get(own.address) : known;
      if (snapshot !== null) {
        await serve(request, response, own, snapshot);
        return;
      }
      if (await serveLink(request, response, own)) return;
    }
    const candidate = byPath(path, prefix);
    if (candidate === null) {
      next();
      return;
    }
    const place = { base: candidate.base, address: publicUrl, ...unknownPage };
    // Look-ups of other pages never block an existing page.
    if (!snapshots.isKnown(candidate.address)) {
      const refusal = tooMany(request, response, place);
      if (refusal !== null) {
        sendRepresentation(request, response, refusal, false);
        return;
      }
    }
    const snapshot = await snapshots.get(candidate.address);
    if (snapshot !== null) {
      await serve(request, response, candidate, snapshot);
      return;
    }
    if (await serveLink(request, response, candidate)) return;
    sendRepresentation(request, response, notFoundPage(place, null), false);
  };
}
