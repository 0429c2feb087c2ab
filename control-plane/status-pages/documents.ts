/** The documents of a status page by path, all rendered from one view. */
import type { Db } from '../db/tables.ts';
import { newestFirst, viewIncident, type IncidentView } from './view/incidents.ts';
import { apiDocument, isApiDocument } from './atlassian.ts';
import { badgeDocument, badgePicture, loadBadgeMaker, parseBadgeStyle } from './badge.ts';
import { calendarText } from './calendar.ts';
import { feedText, type FeedEntry, type FeedFormat } from './feeds.ts';
import type { Place } from './html/place.ts';
import { webhookPage } from './html/forms.ts';
import { historyPage, monthOf, parseMonth } from './html/history.ts';
import { incidentPage } from './html/incident.ts';
import { feedsPage } from './html/slack.ts';
import { statusPage } from './html/status-page.ts';
import { timezonePage } from './html/timezone.ts';
import { firstIncidentAt, readIncidents, type WhichIncidents } from './read-incidents.ts';
import { represent, type Representation } from '../http/representation.ts';
import type { Snapshot } from './snapshots.ts';

export interface Reading {
  /** Runs reads of the account of the page. */
  read: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  snapshot: Snapshot;
  place: Place;
  canSubscribe: boolean;
  /** `/`, `/history`. */
  rest: string;
  query: URLSearchParams;
}

const feedTypes: Record<FeedFormat, string> = {
  rss: 'application/rss+xml; charset=utf-8',
  atom: 'application/atom+xml; charset=utf-8',
  json: 'application/feed+json; charset=utf-8',
};

const feeds: Record<string, { format: FeedFormat; entry: FeedEntry }> = {
  '/feed.rss': { format: 'rss', entry: 'incident' },
  '/feed.atom': { format: 'atom', entry: 'incident' },
  '/feed.json': { format: 'json', entry: 'incident' },
  '/slack.rss': { format: 'rss', entry: 'update' },
};

/** A document of the snapshot, as this visitor reads it. */
function keep(
  { snapshot, place }: Reading,
  name: string,
  make: () => Representation | Promise<Representation>,
): Promise<Representation> {
  const { locale, chosen } = place;
  const variant = [locale.language, locale.timezone, ...Object.keys(chosen)].join(' ');
  return snapshot.represent(`${variant} ${name}`, make);
}

/** CORS headers of public documents. */
function open(snapshot: Snapshot, type: string): Record<string, string> {
  return {
    'Content-Type': type,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    ...(snapshot.read.access.isPrivate
      ? {}
      : { 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' }),
  };
}

function json(snapshot: Snapshot, value: object): Representation {
  return represent(JSON.stringify(value), open(snapshot, 'application/json; charset=utf-8'));
}

async function incidentsOf(
  { read, snapshot }: Reading,
  which: WhichIncidents,
): Promise<IncidentView[]> {
  const { accountId } = snapshot.read;
  const { services, page } = snapshot.view;
  const facts = await read((db) => readIncidents(db, { accountId, pageId: page.id }, which));
  const known = new Map(services.map((service) => [service.id, service]));
  return newestFirst(facts.flatMap((one) => viewIncident(one, known, which.now) ?? []));
}

async function history(reading: Reading): Promise<Representation | null> {
  const { snapshot, place, canSubscribe, query } = reading;
  const { view } = snapshot;
  const of = { accountId: snapshot.read.accountId, pageId: view.page.id };
  const { timezone } = place.locale;
  const name = query.get('month');
  const month = name === null ? monthOf(view.at, timezone) : parseMonth(name, timezone);
  if (month === null || month.from > view.at) return null;
  return keep(reading, `/history ${month.name}`, async () =>
    historyPage(view, {
      month,
      incidents: await incidentsOf(reading, {
        kind: 'begun',
        from: month.from,
        to: month.to,
        now: view.at,
      }),
      firstAt: await reading.read((db) => firstIncidentAt(db, of, view.at)),
      place,
      canSubscribe,
    }),
  );
}

async function incident(reading: Reading, id: string): Promise<Representation | null> {
  const { snapshot, place, canSubscribe } = reading;
  const { view } = snapshot;
  const known = [...view.openIncidents, ...view.pastIncidents].find((one) => one.id === id);
  const found = known ?? (await incidentsOf(reading, { kind: 'one', id, now: view.at }))[0];
  if (found === undefined) return null;
  return keep(reading, `/incidents/${id}`, () => incidentPage(view, found, place, canSubscribe));
}

/** The incidents of one service of the page as a feed. */
function serviceFeed(
  reading: Reading,
  path: string,
  id: string | undefined,
  name = '',
): Promise<Representation> | null {
  const { view } = reading.snapshot;
  const feed = feeds[name];
  const service = view.services.find((one) => one.id === id);
  if (service === undefined || feed === undefined) return null;
  return keep(reading, path, () =>
    represent(
      feedText({ view, service, ...reading.place, path, ...feed }),
      open(reading.snapshot, feedTypes[feed.format]),
    ),
  );
}

/** The document at a path of a page; null for an unknown path. */
export async function documentAt(reading: Reading): Promise<Representation | null> {
  const { snapshot, place, canSubscribe, query } = reading;
  const { view } = snapshot;
  const rest = reading.rest.length > 1 ? reading.rest.replace(/\/$/, '') : reading.rest;
  const { address, locale } = place;
  switch (rest) {
    case '/': {
      const find = query.get('q')?.trim().slice(0, 100) || undefined;
      // Visitors choose the words: an answer to them is not kept.
      if (find !== undefined) return statusPage(view, { place, canSubscribe, find });
      return keep(reading, rest, () => statusPage(view, { place, canSubscribe }));
    }
    case '/feeds': {
      const service = view.services.find(({ id }) => id === query.get('service'));
      if (service === undefined || view.page.isPrivate) return null;
      return keep(reading, `${rest} ${service.id}`, () => feedsPage(view, service, place));
    }
    case '/history':
      return history(reading);
    case '/subscriptions/webhook':
      // Programs know no password.
      if (view.page.isPrivate) return null;
      return keep(reading, rest, () => webhookPage(view.page, { place, cards: view.cards }));
    case '/time-zone':
      return keep(reading, rest, () => timezonePage(view.page, place));
    case '/maintenance.ics':
      return keep(reading, rest, () =>
        represent(
          calendarText(view, address, locale),
          open(snapshot, 'text/calendar; charset=utf-8'),
        ),
      );
    case '/badge.json':
      return keep(reading, rest, () => json(snapshot, badgeDocument(view, locale)));
    case '/badge.svg': {
      const style = parseBadgeStyle(query.get('style') ?? '');
      const draw = await loadBadgeMaker();
      return keep(reading, `${rest} ${style}`, () =>
        represent(
          badgePicture(draw, view, locale, style),
          open(snapshot, 'image/svg+xml; charset=utf-8'),
        ),
      );
    }
  }
  const feed = Object.hasOwn(feeds, rest) ? feeds[rest] : undefined;
  if (feed !== undefined) {
    return keep(reading, rest, () =>
      represent(
        feedText({ view, address, locale, path: rest, ...feed }),
        open(snapshot, feedTypes[feed.format]),
      ),
    );
  }
  const ofService = /^\/services\/([0-9a-f-]{36})(\/feed\.(?:rss|atom|json)|\/slack\.rss)$/.exec(
    rest,
  );
  if (ofService !== null) return serviceFeed(reading, rest, ofService[1], ofService[2]);
  const id = /^\/incidents\/([0-9a-f-]{36})$/.exec(rest)?.[1];
  if (id !== undefined) return incident(reading, id);
  const name = /^\/api\/v2\/([a-z/-]+\.json)$/.exec(rest)?.[1] ?? '';
  if (!isApiDocument(name)) return null;
  return keep(reading, rest, () => json(snapshot, apiDocument(name, { view, address, locale })));
}
