/** Reads the facts of a status page. */
import { fromFlag, fromJson } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { CardFacts, PageFacts, PageLook } from './view/facts.ts';
import { dayStarts } from './view/uptime.ts';
import { readFollowed } from './read-followed.ts';
import { readIncidents } from './read-incidents.ts';
import { readWindows } from './read-windows.ts';
import { selectCards } from './store.ts';

/** How a visitor names a page: by slug or by host. */
export type PageAddress =
  { kind: 'slug'; slug: string } | { kind: 'domain'; hosts: readonly string[] };

/** Access rules of a page. */
export interface PageAccess {
  isPrivate: boolean;
  passwordHash: string | null;
  passwordVersion: number;
}

/** The languages and the time zone of a page; older rows have none. */
export function localeFieldsOf(
  row: Pick<Row, 'body_json'>,
): Pick<PageLook, 'language' | 'languages' | 'timezone'> {
  const {
    language = 'en',
    languages = [],
    timezone = 'UTC',
  } = fromJson<Partial<Look>>(row.body_json);
  return { language, languages, timezone };
}

export interface ReadPage {
  accountId: string;
  access: PageAccess;
  facts: PageFacts;
}

type Row = RowOf<'status_pages'>;
type Look = Pick<PageLook, 'description' | 'logo' | 'favicon' | 'redirectTo' | 'themeColors'> & {
  logoDark?: PageLook['logoDark'];
  defaultTheme: PageLook['theme'];
} & Partial<Pick<PageLook, 'language' | 'languages' | 'timezone'>>;

function findPage(db: Db, address: PageAddress): Promise<Row | undefined> {
  // Visitors have no account. Addresses are unique, and everything else is read with the account of
  // the row.
  const pages = db.selectFrom('status_pages').selectAll();
  return (
    address.kind === 'slug'
      ? pages.where('url', '=', address.slug)
      : pages.where('custom_domain', 'in', address.hosts)
  ).executeTakeFirst();
}

async function readCards(db: Db, page: Row): Promise<CardFacts[]> {
  const { cards, servicesOf } = await selectCards(db, page.account_id, [page.id]);
  return cards.map((card) => ({
    id: card.id,
    name: card.name,
    createdAt: card.created_at,
    updatedAt: card.updated_at,
    services: (servicesOf.get(card.id) ?? []).map((service) => ({
      id: service.id,
      name: service.name,
      createdAt: service.created_at,
      updatedAt: service.updated_at,
    })),
  }));
}

/** Undefined for an unknown page. */
export async function readPage(
  db: Db,
  address: PageAddress,
  now: number,
): Promise<ReadPage | undefined> {
  const row = await findPage(db, address);
  if (row === undefined) return undefined;
  const look = fromJson<Look>(row.body_json);
  const starts = dayStarts(now, localeFieldsOf(row).timezone);
  const since = starts[0] ?? now;
  const cards = await readCards(db, row);
  const services = cards.flatMap((card) => card.services.map(({ id }) => id));
  const key = { accountId: row.account_id, pageId: row.id };
  return {
    accountId: row.account_id,
    access: {
      isPrivate: fromFlag(row.is_private),
      passwordHash: row.password_hash,
      passwordVersion: row.password_version,
    },
    facts: {
      page: {
        id: row.id,
        name: row.name,
        url: row.url,
        customDomain: row.custom_domain,
        description: look.description,
        logo: look.logo,
        logoDark: look.logoDark ?? null,
        favicon: look.favicon,
        redirectTo: look.redirectTo,
        theme: look.defaultTheme,
        themeColors: look.themeColors,
        isPrivate: fromFlag(row.is_private),
        ...localeFieldsOf(row),
        createdAt: row.created_at,
        updatedAt: row.updated_at,
      },
      cards,
      incidents: await readIncidents(db, key, {
        kind: 'current',
        since,
        now,
      }),
      windows: await readWindows(db, key, since, now),
      followed: await readFollowed(db, key, services, starts, now),
    },
  };
}
