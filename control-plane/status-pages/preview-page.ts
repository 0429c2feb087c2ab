/** A page as somebody has typed it, rendered as visitors would see it. Nothing is stored. */
import type { StatusPagePreviewBody } from '@monitor/shared/contract/status-page.ts';
import { eachOf } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { choicesOfPage } from './choices.ts';
import { publicAddressOf } from './decide/status-page-address.ts';
import { statusPage } from './html/status-page.ts';
import { readIncidents } from './read-incidents.ts';
import { readWindows } from './read-windows.ts';
import type { CardFacts, IncidentFacts, PageFacts, PageLook } from './view/facts.ts';
import { shownSince } from './view/uptime.ts';
import { viewPage } from './view/view.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A body can name a service many times; rendering them all would hold up everybody else. */
const maxServices = 200;

interface Preview {
  html: string;
  css: string;
  hasSamples: boolean;
}

/** The cards of a body with the services of the account; others are left out, as if deleted. */
async function cardsOf(
  db: Db,
  accountId: string,
  given: StatusPagePreviewBody['cards'],
  now: number,
): Promise<CardFacts[]> {
  const ids = [...new Set(given.flatMap(({ services }) => services.map(({ id }) => id)))];
  const rows =
    ids.length === 0
      ? []
      : await ownRows(db, 'services', accountId).where('id', 'in', eachOf(ids)).execute();
  const known = new Map(rows.map((row) => [row.id, row]));
  let left = maxServices;
  return given.map(({ name, services }, index) => ({
    id: `preview-${index}`,
    name,
    createdAt: now,
    updatedAt: null,
    services: services.flatMap(({ id }) => {
      const row = known.get(id);
      if (row === undefined || left === 0) return [];
      left -= 1;
      return [{ id, name: row.name, createdAt: row.created_at, updatedAt: row.updated_at }];
    }),
  }));
}

function sampleCards(now: number): CardFacts[] {
  const lived = { createdAt: now - 90 * dayMs, updatedAt: null };
  const services = ['Website', 'API'].map((name, index) => ({
    ...{ id: `00000000-0000-4000-8000-00000000000${index}`, name },
    ...lived,
  }));
  return [{ id: 'preview-sample', name: 'Services', services, ...lived }];
}

function sampleIncident(serviceId: string, now: number): IncidentFacts {
  const begunAt = now - hourMs;
  return {
    ...{ id: 'preview-incident', name: 'Sample incident', severity: 'MINOR' },
    ...{ createdAt: begunAt, updatedAt: null, serviceIds: [serviceId] },
    updates: [
      {
        ...{ id: 'preview-update', seq: 1, status: 'INVESTIGATING' },
        ...{ description: 'Some requests are slow.', publicAt: begunAt, createdAt: begunAt },
      },
    ],
  };
}

function lookOf(body: StatusPagePreviewBody): PageLook {
  const { logo = null, defaultTheme = 'AUTO', language = 'en', languages = [] } = body;
  return {
    id: body.statusPageId ?? 'preview',
    name: body.name,
    url: 'preview',
    customDomain: null,
    description: body.description ?? null,
    // The console loads nothing from other hosts.
    logo: logo?.startsWith('data:') === true ? logo : null,
    logoDark: null,
    favicon: null,
    redirectTo: null,
    theme: defaultTheme === 'AUTO' ? body.scheme : defaultTheme,
    themeColors: body.themeColors ?? null,
    isPrivate: false,
    ...{ language, languages, timezone: body.timezone ?? 'UTC' },
  };
}

/** Reads with the account alone: services and incidents of others are not found. */
export async function previewPage(
  { readPool, clock, publicUrl }: Services,
  accountId: string,
  body: StatusPagePreviewBody,
): Promise<Preview> {
  const now = clock.now();
  const page = lookOf(body);
  const since = shownSince(now, page.timezone);
  const facts = await readPool.read(accountId, async (db): Promise<PageFacts> => {
    const key = { accountId, pageId: page.id };
    const isSaved = body.statusPageId !== undefined;
    return {
      page: { ...page, createdAt: now, updatedAt: null },
      cards: await cardsOf(db, accountId, body.cards, now),
      incidents: isSaved ? await readIncidents(db, key, { kind: 'current', since, now }) : [],
      windows: isSaved ? await readWindows(db, key, since, now) : [],
    };
  });
  const hasServices = facts.cards.some(({ services }) => services.length > 0);
  const cards = hasServices ? facts.cards : sampleCards(now);
  const [first] = cards.flatMap(({ services }) => services);
  const isQuiet = facts.incidents.length === 0 && first !== undefined;
  const incidents = isQuiet ? [sampleIncident(first.id, now)] : facts.incidents;
  const view = viewPage({ ...facts, cards, incidents }, now);
  const address = publicAddressOf(page, publicUrl);
  const place = { base: '', address, ...choicesOfPage(page) };
  const text = statusPage(view, { place, canSubscribe: true }).body.toString();
  const css = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? '';
  return {
    html: text.replace(`<style>${css}</style>`, ''),
    css,
    hasSamples: !hasServices || isQuiet,
  };
}
