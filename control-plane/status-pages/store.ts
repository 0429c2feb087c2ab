/** Stored status pages and cards: rows ↔ wire. */
import type { z } from 'zod';
import type {
  statusPage,
  StatusPageBody,
  statusPageSubscription,
} from '@monitor/shared/contract/status-page.ts';
import { invalidField } from '../errors/api-error.ts';
import { fromFlag, fromJson, stampsOf, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { deleteOwnRows, ownRows } from '../db/own-rows.ts';
import { eachOf } from '../db/expressions.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { checkServices, type ServiceWire, toServiceWire } from '../incidents/index.ts';
import { refuseTakenAddresses } from '../core/unique-addresses.ts';
import { shownAddress } from './subscribers/webhook-address.ts';
import { holderOf } from './verify-domains.ts';
import type { Services } from '../core/services.ts';
import type { StatusPageDomains } from './status-page-domains.ts';

export type StatusPageRow = RowOf<'status_pages'>;
type CardRow = RowOf<'status_page_cards'>;
type Wire = z.input<typeof statusPage>;

/** Fields of a page without a column of their own. */
type Look = Pick<
  Wire,
  | 'description'
  | 'themeColors'
  | 'logo'
  | 'redirectTo'
  | 'favicon'
  | 'defaultTheme'
  | 'language'
  | 'languages'
  | 'timezone'
> &
  /** The given spelling; the columns are in lower case for look-ups. */
  Partial<Pick<Wire, 'url' | 'customDomain' | 'logoDark'>>;

const plainLook: Look = {
  description: null,
  themeColors: null,
  logo: null,
  redirectTo: null,
  favicon: null,
  defaultTheme: 'AUTO',
  language: 'en',
  languages: [],
  timezone: 'UTC',
};

/** The columns for a body. Absent optional fields stay as they are. */
export function toColumns(body: StatusPageBody, before: StatusPageRow | null) {
  const { name, url, cards: _, customDomain, ...look } = body;
  const lookBefore = before === null ? plainLook : fromJson<Look>(before.body_json);
  return {
    name,
    url: url.toLowerCase(),
    body_json: JSON.stringify({
      ...lookBefore,
      ...look,
      url,
      ...(customDomain === undefined ? {} : { customDomain }),
    }),
  };
}

/**
 * The domain columns for a body. An unchanged domain keeps its state. A new one is served at once
 * when the operator listed it and no other page has it.
 */
export async function toDomainColumns(
  db: Db,
  { domains, newId, clock }: Pick<Services, 'domains' | 'newId' | 'clock'>,
  { customDomain }: StatusPageBody,
  before: StatusPageRow | null,
) {
  const claimed = customDomain?.toLowerCase() ?? null;
  if (customDomain === undefined || claimed === (before?.claimed_domain ?? null)) return {};
  const none = { claimed_domain: null, domain_challenge: null, domain_claimed_at: null };
  if (claimed === null) return { ...none, custom_domain: null, domain_checked_at: null };
  if (domains.isReserved(claimed)) {
    throw invalidField('customDomain', 'is a host of this installation');
  }
  const isServed = domains.isAllowed(claimed) && (await holderOf(db, claimed)) === undefined;
  return {
    claimed_domain: claimed,
    domain_challenge: newId(),
    domain_claimed_at: clock.now(),
    domain_checked_at: null,
    custom_domain: isServed ? claimed : null,
  };
}

function domainWire(row: StatusPageRow, domains: StatusPageDomains) {
  const { claimed_domain: domain, domain_challenge: challenge } = row;
  if (domain === null) return { customDomainStatus: null, customDomainChallenge: null };
  return {
    customDomainStatus: row.custom_domain === domain ? ('VERIFIED' as const) : ('PENDING' as const),
    customDomainChallenge: challenge === null ? null : domains.challengeOf({ domain, challenge }),
  };
}

function toWire(
  row: StatusPageRow,
  domains: StatusPageDomains,
  cards: readonly CardRow[],
  servicesOf: (cardId: string) => ServiceWire[],
): Wire {
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    cards: cards.map((card) => ({
      id: card.id,
      name: card.name,
      created_at: toTimestamp(card.created_at),
      services: servicesOf(card.id),
      updated_at: toTimestampOrNull(card.updated_at),
    })),
    customDomain: row.claimed_domain,
    ...domainWire(row, domains),
    ...plainLook,
    logoDark: null,
    ...fromJson<Look>(row.body_json),
    version: 2,
    // There is no branding that could be removed.
    whiteLabel: true,
    isPrivate: fromFlag(row.is_private),
    accountId: row.account_id,
    ...stampsOf(row),
  };
}

/** The cards of pages and their services, in their order. */
export async function selectCards(db: Db, accountId: string, pageIds: readonly string[]) {
  const cards = await ownRows(db, 'status_page_cards', accountId)
    .where('status_page_id', 'in', pageIds)
    .orderBy('position')
    .execute();
  const services = await db
    .selectFrom('services')
    .innerJoin('card_services', 'card_services.service_id', 'services.id')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .selectAll('services')
    .select('card_services.card_id')
    .where('services.account_id', '=', accountId)
    .where('status_page_cards.status_page_id', 'in', pageIds)
    .orderBy('card_services.position')
    .execute();
  return { cards, servicesOf: Map.groupBy(services, ({ card_id }) => card_id) };
}

/** Pages with their cards and services, in the given order. */
export async function presentStatusPages(
  { db, domains }: { db: Db; domains: StatusPageDomains },
  accountId: string,
  rows: readonly StatusPageRow[],
): Promise<Wire[]> {
  if (rows.length === 0) return [];
  const pageIds = rows.map(({ id }) => id);
  const { cards, servicesOf } = await selectCards(db, accountId, pageIds);
  const cardsByPage = Map.groupBy(cards, (card) => card.status_page_id);
  return rows.map((row) =>
    toWire(row, domains, cardsByPage.get(row.id) ?? [], (cardId) =>
      (servicesOf.get(cardId) ?? []).map(toServiceWire),
    ),
  );
}

/**
 * Refuses a slug that another page of the installation has, and a domain that another page of the
 * account has. Claims of other accounts do not block a domain.
 */
export function refuseTaken(
  db: Db,
  accountId: string,
  { url, customDomain }: Pick<StatusPageBody, 'url' | 'customDomain'>,
  ownId: string | null,
): Promise<void> {
  const pages = db.selectFrom('status_pages').select('id');
  return refuseTakenAddresses(
    { url: url.toLowerCase(), customDomain: customDomain?.toLowerCase() ?? null },
    ownId,
    (field, value) =>
      (field === 'url'
        ? pages.where('url', '=', value)
        : pages.where('account_id', '=', accountId).where('claimed_domain', '=', value)
      ).executeTakeFirst(),
  );
}

interface CardParts {
  newId: () => string;
  now: number;
}

/** Replaces the cards of a page. A card keeps its id and creation time when the body repeats its id. */
export async function replaceCards(
  db: Db,
  page: StatusPageRow,
  cards: StatusPageBody['cards'],
  { newId, now }: CardParts,
): Promise<void> {
  await checkServices(
    db,
    page.account_id,
    'cards',
    cards.flatMap(({ services }) => services),
  );
  const before = await ownRows(db, 'status_page_cards', page.account_id)
    .where('status_page_id', '=', page.id)
    .execute();
  const kept = new Map(before.map((card) => [card.id, card]));
  const written = new Set<string>();
  await deleteOwnRows(db, 'status_page_cards', page.account_id)
    .where('status_page_id', '=', page.id)
    .execute();
  for (const [position, { id, name, services }] of cards.entries()) {
    if (id !== undefined && written.has(id)) throw invalidField('cards', `has card ${id} twice`);
    const same = id === undefined ? undefined : kept.get(id);
    const cardId = same?.id ?? newId();
    written.add(cardId);
    await db
      .insertInto('status_page_cards')
      .values({
        id: cardId,
        status_page_id: page.id,
        account_id: page.account_id,
        name,
        position,
        created_at: same?.created_at ?? now,
        updated_at: same === undefined ? null : now,
      })
      .execute();
    const serviceIds = [...new Set(services.map((service) => service.id))];
    if (serviceIds.length === 0) continue;
    await db
      .insertInto('card_services')
      .values(
        serviceIds.map((serviceId, order) => ({
          card_id: cardId,
          service_id: serviceId,
          position: order,
        })),
      )
      .execute();
  }
}

/** Subscriptions in the given order, with the chosen services that still exist. */
export async function presentSubscriptions(
  db: Db,
  accountId: string,
  rows: readonly RowOf<'status_page_subscriptions'>[],
): Promise<z.input<typeof statusPageSubscription>[]> {
  const chosen = rows.map((row) => fromJson<string[]>(row.services_json));
  const services = await db
    .selectFrom('services')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where('id', 'in', eachOf([...new Set(chosen.flat())]))
    .orderBy('name')
    .execute();
  return rows.map((row, index) => {
    const ids = chosen[index] ?? [];
    return {
      id: row.id,
      type: row.type,
      address: row.type === 'WEBHOOK' ? shownAddress(row.address) : row.address,
      status: row.status as 'PENDING' | 'VERIFIED',
      services: ids.length === 0 ? null : services.filter(({ id }) => ids.includes(id)),
      created_at: toTimestamp(row.created_at),
      updated_at: toTimestamp(row.updated_at),
    };
  });
}
