/** Status pages and their cards: rows ↔ wire. */
import type { Kysely, Selectable } from 'kysely';
import type { z } from 'zod';
import type {
  statusPage,
  StatusPageBody,
  statusPageSubscription,
} from '@monitor/shared/contract/status-page.ts';
import { invalidField } from '../../api-error.ts';
import { fromFlag, fromJson, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type {
  Database,
  StatusPageCardsTable,
  StatusPagesTable,
  StatusPageSubscriptionsTable,
} from '../../db/tables.ts';
import {
  checkServices,
  toServiceWire,
  type ServiceWire,
} from '../../operations/service-references.ts';
import { refuseTakenAddresses } from '../../operations/unique-addresses.ts';

export type StatusPageRow = Selectable<StatusPagesTable>;
type CardRow = Selectable<StatusPageCardsTable>;
type Wire = z.input<typeof statusPage>;

/** What a page shows besides its cards: the fields without a column of their own. */
type Look = Pick<
  Wire,
  'description' | 'themeColors' | 'logo' | 'redirectTo' | 'favicon' | 'defaultTheme'
> &
  /** As they were given: the columns, which pages are found by, have them in lower case. */
  Partial<Pick<Wire, 'url' | 'customDomain'>>;

const plainLook: Look = {
  description: null,
  themeColors: null,
  logo: null,
  redirectTo: null,
  favicon: null,
  defaultTheme: 'AUTO',
};

/** The columns a body sets. Optional fields that are absent stay as they were. */
export function toColumns(body: StatusPageBody, before?: StatusPageRow) {
  const { name, url, cards: _, customDomain, ...look } = body;
  const lookBefore = before === undefined ? plainLook : fromJson<Look>(before.body_json);
  return {
    name,
    url: url.toLowerCase(),
    custom_domain:
      customDomain === undefined
        ? (before?.custom_domain ?? null)
        : (customDomain?.toLowerCase() ?? null),
    body_json: JSON.stringify({
      ...lookBefore,
      ...look,
      url,
      ...(customDomain === undefined ? {} : { customDomain }),
    }),
  };
}

function toWire(
  row: StatusPageRow,
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
    customDomain: row.custom_domain,
    ...plainLook,
    ...fromJson<Look>(row.body_json),
    // There is no brand but the account's own to leave out.
    whiteLabel: true,
    isPrivate: fromFlag(row.is_private),
    accountId: row.account_id,
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
  };
}

/** Pages with their cards and services, in order. */
export async function presentStatusPages(
  db: Kysely<Database>,
  accountId: string,
  rows: readonly StatusPageRow[],
): Promise<Wire[]> {
  if (rows.length === 0) return [];
  const pageIds = rows.map(({ id }) => id);
  const cards = await db
    .selectFrom('status_page_cards')
    .selectAll()
    .where('account_id', '=', accountId)
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
  const cardsByPage = Map.groupBy(cards, (card) => card.status_page_id);
  const servicesByCard = Map.groupBy(services, (service) => service.card_id);
  return rows.map((row) =>
    toWire(row, cardsByPage.get(row.id) ?? [], (cardId) =>
      (servicesByCard.get(cardId) ?? []).map(toServiceWire),
    ),
  );
}

const columnOfAddress = { url: 'url', customDomain: 'custom_domain' } as const;

/** Refuses the address or the domain of another page. */
export function refuseTaken(
  db: Kysely<Database>,
  address: { url: string; custom_domain: string | null },
  ownId: string | null,
): Promise<void> {
  return refuseTakenAddresses(
    { url: address.url, customDomain: address.custom_domain },
    ownId,
    (field, value) =>
      db
        .selectFrom('status_pages')
        .select('id')
        .where(columnOfAddress[field], '=', value)
        .executeTakeFirst(),
  );
}

interface CardParts {
  newId: () => string;
  now: number;
}

/** Gives a page these cards and no others. A card keeps its id and age when the body repeats its id. */
export async function replaceCards(
  db: Kysely<Database>,
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
  const before = await db
    .selectFrom('status_page_cards')
    .selectAll()
    .where('account_id', '=', page.account_id)
    .where('status_page_id', '=', page.id)
    .execute();
  const kept = new Map(before.map((card) => [card.id, card]));
  const written = new Set<string>();
  await db
    .deleteFrom('status_page_cards')
    .where('account_id', '=', page.account_id)
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

export function toSubscriptionWire(
  row: Selectable<StatusPageSubscriptionsTable>,
): z.input<typeof statusPageSubscription> {
  return {
    id: row.id,
    type: row.type as 'EMAIL',
    address: row.address,
    status: row.status as 'PENDING' | 'VERIFIED',
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestamp(row.updated_at),
  };
}
