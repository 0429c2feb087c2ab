/** Services, status pages and dashboards. */
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import {
  dashboardsOf,
  pageServicesOf,
  presentStatusPages,
  statusPagesOf,
} from '../../status-pages/index.ts';
import { mapReferences, refIn } from '../references.ts';
import { type Fields, isEqual, type Kind, kindOf, plain } from './kind.ts';

const dashboardKind = kindOf({
  type: 'dashboard',
  route: dashboardRoutes.createDashboard,
  of: dashboardsOf,
  id: 'id',
});

export const dashboards: Kind = {
  ...dashboardKind,
  keptUnlessGiven: ['showCheckRunLinks', 'showGroupNames', 'sortByStatus'],
  address: 'customUrl',
  parse(payload, references, slugs) {
    const { keys, ...body } = dashboardKind.parse(payload, references, slugs);
    if ((keys as unknown[]).length > 0) references.ignored.push('keys');
    return body;
  },
  async read(unit, ids) {
    const stored = await dashboardKind.read(unit, ids);
    for (const { fields } of stored.values()) delete fields['keys'];
    return stored;
  },
  create: (unit, body) => dashboardKind.create(unit, { ...body, keys: [] }),
};

const serviceKind = kindOf({
  type: 'status-page-service',
  route: serviceRoutes.createService,
  of: pageServicesOf,
  references: { 'follows.checkIds.*': 'check', 'follows.groupIds.*': 'check-group' },
});

export const pageServices: Kind = {
  ...serviceKind,
  // Checks are made after the services that they report to.
  later: ['follows'],
  parse(payload, references, slugs) {
    const { name, follows, ...rest } = serviceKind.parse(payload, references, slugs);
    references.ignored.push(...Object.keys(rest));
    return { name, ...(follows !== undefined && { follows }) };
  },
  async read({ services, accountId }, ids) {
    const { among, present } = pageServicesOf(services);
    const wires = await present(await among(accountId, ids), { accountId, role: 'READ_ONLY' });
    return new Map(
      wires.map(({ id, name, follows }) => [id, { handle: id, fields: { name, follows } }]),
    );
  },
  write: ({ name }) => ({ name }),
};

interface Card {
  id?: string;
  name: string;
  services: { id: string }[];
}

/** What a page has when its project does not say. Further fields stay as people set them. */
const plainPage = {
  customDomain: null,
  logo: null,
  redirectTo: null,
  favicon: null,
  defaultTheme: 'AUTO',
};

/** What a complete project has of a page besides, where its files do not say. */
const ofCompletePage = { description: null, themeColors: null };

const ofCards = { 'cards.*.services.*': 'status-page-service' } as const;

const pageKind = kindOf({
  type: 'status-page',
  route: statusPageRoutes.createStatusPage,
  of: statusPagesOf,
});

export const pages: Kind = {
  ...pageKind,
  references: ofCards,
  write(stored) {
    const names = ['name', 'url', 'cards', ...Object.keys(plainPage)];
    return Object.fromEntries(names.map((name) => [name, stored[name]]));
  },
  address: 'url',
  settle: (changes, { isComplete }) => ({ ...(isComplete && ofCompletePage), ...changes }),
  // Cards hold their services as objects, which references stand for.
  parse: (payload, references, slugs) =>
    pageKind.parse(
      mapReferences(
        { ...plainPage, ...(plain(payload) as Fields) },
        ofCards,
        (found, type, field) =>
          refIn(found) === null ? found : { id: references.id(found, type, field) },
      ),
      references,
      slugs,
    ),
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await statusPagesOf(services).among(accountId, ids);
    const wires = await presentStatusPages(services, accountId, rows);
    return new Map(
      wires.map((wire) => {
        const cards = wire.cards.map(({ id, name, services: ofCard }) => ({
          ...{ id, name },
          services: ofCard.map((service) => ({ id: service.id })),
        }));
        return [wire.id, { handle: wire.id, fields: { ...wire, cards } }];
      }),
    );
  },
  update(unit, stored, body) {
    const before = stored.fields['cards'] as Required<Card>[];
    const cards = keepCardIds(before, body['cards'] as Card[]);
    return pageKind.update(unit, stored, { ...body, cards });
  },
  isSame(stored, body) {
    const withoutIds = (cards: unknown) =>
      (cards as Card[]).map(({ name, services }) => ({
        name,
        services: [...new Set(services.map(({ id }) => id))],
      }));
    const compared = (page: Fields): Fields => ({ ...page, cards: withoutIds(page['cards']) });
    return isEqual(compared(stored), compared(body));
  },
};

/** A card that keeps its name keeps its id. */
function keepCardIds(before: readonly Required<Card>[], cards: readonly Card[]): Card[] {
  const left = [...before];
  return cards.map((card) => {
    const at = left.findIndex(({ name }) => name === card.name);
    const [same] = at === -1 ? [] : left.splice(at, 1);
    return same === undefined ? card : { ...card, id: same.id };
  });
}
