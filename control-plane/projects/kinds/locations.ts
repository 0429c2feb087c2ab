/** Private locations and maintenance windows. */
import { isDeepStrictEqual } from 'node:util';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import { roleOf } from '@monitor/shared/contract/route.ts';
import type { LocationKeys } from '../../accounts/index.ts';
import {
  maintenanceWindowHandlers,
  windowColumnsOf,
  windowFieldsOf,
} from '../../maintenance/index.ts';
import { givenKeysOf, privateLocationHandlers } from '../../scheduling/index.ts';
import { inputOf, type Kind, parseBy, related, type Unit } from './kind.ts';
import { rowsOf } from './rows.ts';

/** Nobody would see the first key of a location that a project makes: people create it when they need it. */
const keysOf = ({ services: { afterDeployment } }: Unit): LocationKeys => ({
  create: () => Promise.resolve({ id: '', rawKey: '', maskedKey: '', createdAt: 0 }),
  forget: afterDeployment.forgetKeys,
});

export const locations: Kind = {
  type: 'private-location',
  write: (stored) => stored,
  address: 'slugName',
  role: roleOf(privateLocationRoutes.createPrivateLocation),
  parse(payload, references) {
    const { createPrivateLocation: route } = privateLocationRoutes;
    return parseBy(route.body, payload, related(route), references);
  },
  async read(unit, ids) {
    const { services, accountId } = unit;
    const rows = await rowsOf('private_locations', unit, ids);
    return new Map(
      rows.map((row) => {
        const { id, name, slug_name: slugName, icon, proxy_url: proxy } = row;
        const proxyUrl = proxy === null ? null : services.secrets.decryptStored(proxy, accountId);
        const resultEncryptionKeys = givenKeysOf(row.result_keys_json);
        const fields = { name, slugName, icon, proxyUrl, resultEncryptionKeys };
        return [id, { handle: id, fields }];
      }),
    );
  },
  async create(unit, body) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return (await handlers.createPrivateLocation(inputOf({ body }), unit.call)).id;
  },
  update(unit, { handle }, { slugName: _same, ...body }) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return handlers.updatePrivateLocation(inputOf({ params: { id: handle }, body }), unit.call);
  },
  remove(unit, { handle }) {
    const handlers = privateLocationHandlers(unit.services, keysOf(unit));
    return handlers.deletePrivateLocation(inputOf({ params: { id: handle } }), unit.call);
  },
  isOther: (stored, body) => stored['slugName'] !== body['slugName'],
};

export const windows: Kind = {
  type: 'maintenance-window',
  own: ['timezone', 'description', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'],
  write: (stored) => stored,
  role: roleOf(maintenanceWindowRoutes.createMaintenanceWindow),
  parse(payload, references) {
    const { createMaintenanceWindow: route } = maintenanceWindowRoutes;
    return { tags: null, ...parseBy(route.body, payload, related(route), references) };
  },
  async read(unit, ids) {
    const rows = await rowsOf('maintenance_windows', unit, ids);
    return new Map(
      rows.map((row) => {
        const { tags, ...rest } = windowFieldsOf(row);
        // An empty list would say that the window applies to nothing.
        const fields = tags.length === 0 ? rest : { ...rest, tags };
        return [String(row.id), { handle: String(row.id), fields }];
      }),
    );
  },
  async create({ services, call }, body) {
    return (
      await maintenanceWindowHandlers(services).createMaintenanceWindow(inputOf({ body }), call)
    ).id;
  },
  update({ services, call }, { handle }, body) {
    return maintenanceWindowHandlers(services).updateMaintenanceWindow(
      inputOf({ params: { id: Number(handle) }, body }),
      call,
    );
  },
  remove({ services, call }, { handle }) {
    return maintenanceWindowHandlers(services).deleteMaintenanceWindow(
      inputOf({ params: { id: Number(handle) } }),
      call,
    );
  },
  // Instants may be written in many ways.
  isSame: (stored, body) =>
    isDeepStrictEqual(
      windowColumnsOf(stored as never),
      windowColumnsOf({ ...stored, ...body } as never),
    ),
};
