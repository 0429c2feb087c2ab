/** Services, status pages and dashboards. */
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import {
  dashboardFieldsOf,
  dashboardHandlers,
  presentStatusPages,
  serviceHandlers,
  statusPageHandlers,
} from '../../status-pages/index.ts';
import { type References, refIn } from '../references.ts';
import { byText, type Fields, isEqual, type Kind, kindOf, plain } from './kind.ts';
import { rowsOf } from './rows.ts';

const dashboardKind = kindOf(
  'Dashboard',
  dashboardRoutes.createDashboard,
  ({ services }) => dashboardHandlers(services),
  byText('dashboardId'),
);

export const dashboards: Kind = {
  ...dashboardKind,
  type: 'dashboard',
  address: 'customUrl',
  parse(payload, references, slugs) {
    const { keys, ...body } = dashboardKind.parse(payload, references, slugs);
    if ((keys as unknown[]).length > 0) references.ignored.push('keys');
    return body;
  },
  async read(unit, ids) {
    const { services } = unit;
    const rows = await rowsOf('dashboards', unit, ids);
    return new Map(
      rows.map((row) => {
        const { keys: _own, ...fields } = dashboardFieldsOf(row, services.secrets);
        return [String(row.id), { handle: row.dashboard_id, fields }];
      }),
    );
  },
  create: (unit, body) => dashboardKind.create(unit, { ...body, keys: [] }),
};

export const pageServices: Kind = {
  ...kindOf(
    'Service',
    serviceRoutes.createService,
    ({ services }) => serviceHandlers(services),
    byText('serviceId'),
  ),
  type: 'status-page-service',
  async read(unit, ids) {
    const rows = await rowsOf('services', unit, ids);
    return new Map(rows.map(({ id, name }) => [id, { handle: id, fields: { name } }]));
  },
};

interface Card {
  id?: string;
  name: string;
  services: { id: string }[];
}

/** What a page has when its project does not say. Further fields stay as people set them. */
const plainPage = {
  ...{ description: null, customDomain: null, themeColors: null, logo: null },
  ...{ redirectTo: null, favicon: null, defaultTheme: 'AUTO' },
};

const pageKind = kindOf(
  'StatusPage',
  statusPageRoutes.createStatusPage,
  ({ services }) => statusPageHandlers(services),
  byText('statusPageId'),
);

export const pages: Kind = {
  ...pageKind,
  type: 'status-page',
  write(stored) {
    const names = ['name', 'url', 'cards', ...Object.keys(plainPage)];
    return Object.fromEntries(names.map((name) => [name, stored[name]]));
  },
  address: 'url',
  parse(payload, references, slugs) {
    const given = payload['cards'];
    const cards = Array.isArray(given)
      ? given.map((card: unknown, at) => cardOf(card, references, `cards.${at}`))
      : given;
    const resolved = plain({ ...plainPage, ...(plain(payload) as Fields), cards }) as Fields;
    return pageKind.parse(resolved, references, slugs);
  },
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await rowsOf('status_pages', unit, ids);
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

function cardOf(card: unknown, references: References, field: string): unknown {
  if (typeof card !== 'object' || card === null) return card;
  const { services } = card as Fields;
  if (!Array.isArray(services)) return card;
  const ids = services.map((service: unknown, at) =>
    refIn(service) === null
      ? service
      : { id: references.id(service, 'status-page-service', `${field}.services.${at}`) },
  );
  return { ...card, services: ids };
}

/** A card that keeps its name keeps its id. */
function keepCardIds(before: readonly Required<Card>[], cards: readonly Card[]): Card[] {
  const left = [...before];
  return cards.map((card) => {
    const at = left.findIndex(({ name }) => name === card.name);
    const [same] = at === -1 ? [] : left.splice(at, 1);
    return same === undefined ? card : { ...card, id: same.id };
  });
}
