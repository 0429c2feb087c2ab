/** Services, status pages and dashboards. */
import { dashboardRoutes } from '@monitor/shared/contract/dashboard.ts';
import { roleOf } from '@monitor/shared/contract/route.ts';
import { serviceRoutes, statusPageRoutes } from '@monitor/shared/contract/status-page.ts';
import {
  dashboardFieldsOf,
  dashboardHandlers,
  presentStatusPages,
  serviceHandlers,
  statusPageHandlers,
} from '../../status-pages/index.ts';
import { type References, refIn } from '../references.ts';
import { type Fields, inputOf, isEqual, type Kind, parseBy, plain, related } from './kind.ts';
import { rowsOf } from './rows.ts';

export const dashboards: Kind = {
  type: 'dashboard',
  write: (stored) => stored,
  address: 'customUrl',
  role: roleOf(dashboardRoutes.createDashboard),
  parse(payload, references) {
    const { createDashboard: route } = dashboardRoutes;
    const parsed = parseBy(route.body, payload, related(route), references);
    const { keys, ...body } = parsed;
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
  async create({ services, call }, body) {
    const made = { ...body, keys: [] };
    return (await dashboardHandlers(services).createDashboard(inputOf({ body: made }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return dashboardHandlers(services).updateDashboard(
      inputOf({ params: { dashboardId: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return dashboardHandlers(services).deleteDashboard(
      inputOf({ params: { dashboardId: handle } }),
      call,
    );
  },
};

export const pageServices: Kind = {
  type: 'status-page-service',
  write: (stored) => stored,
  role: roleOf(serviceRoutes.createService),
  parse(payload, references) {
    const { createService: route } = serviceRoutes;
    return parseBy(route.body, payload, related(route), references);
  },
  async read(unit, ids) {
    const rows = await rowsOf('services', unit, ids);
    return new Map(rows.map(({ id, name }) => [id, { handle: id, fields: { name } }]));
  },
  async create({ services, call }, body) {
    return (await serviceHandlers(services).createService(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle }, body) {
    return serviceHandlers(services).updateService(
      inputOf({ params: { serviceId: handle }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return serviceHandlers(services).deleteService(
      inputOf({ params: { serviceId: handle } }),
      call,
    );
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

export const pages: Kind = {
  type: 'status-page',
  write(stored) {
    const names = ['name', 'url', 'cards', ...Object.keys(plainPage)];
    return Object.fromEntries(names.map((name) => [name, stored[name]]));
  },
  address: 'url',
  role: roleOf(statusPageRoutes.createStatusPage),
  parse(payload, references) {
    const { createStatusPage: route } = statusPageRoutes;
    const given = payload['cards'];
    const cards = Array.isArray(given)
      ? given.map((card: unknown, at) => cardOf(card, references, `cards.${at}`))
      : given;
    const resolved = plain({ ...plainPage, ...(plain(payload) as Fields), cards }) as Fields;
    return parseBy(route.body, resolved, related(route), references);
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
  async create({ services, call }, body) {
    return (await statusPageHandlers(services).createStatusPage(inputOf({ body }), call)).id;
  },
  update({ services, call }, { handle, fields }, body) {
    const before = fields['cards'] as Required<Card>[];
    const cards = keepCardIds(before, body['cards'] as Card[]);
    const input = { params: { statusPageId: handle }, body: { ...body, cards } };
    return statusPageHandlers(services).updateStatusPage(inputOf(input), call);
  },
  remove({ services, call }, { handle }) {
    return statusPageHandlers(services).deleteStatusPage(
      inputOf({ params: { statusPageId: handle } }),
      call,
    );
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
