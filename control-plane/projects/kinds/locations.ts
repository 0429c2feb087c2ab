/** Private locations and maintenance windows. */
import { isDeepStrictEqual } from 'node:util';
import { maintenanceWindowRoutes } from '@monitor/shared/contract/maintenance-window.ts';
import { privateLocationRoutes } from '@monitor/shared/contract/private-location.ts';
import type { LocationKeys } from '../../accounts/index.ts';
import {
  maintenanceWindowHandlers,
  windowColumnsOf,
  windowFieldsOf,
} from '../../maintenance/index.ts';
import { givenKeysOf, privateLocationHandlers } from '../../scheduling/index.ts';
import { byNumber, byText, type Kind, kindOf, type Unit } from './kind.ts';
import { rowsOf } from './rows.ts';

/** Nobody would see the first key of a location that a project makes: people create it when they need it. */
const keysOf = ({ services: { afterDeployment } }: Unit): LocationKeys => ({
  create: () => Promise.resolve({ id: '', rawKey: '', maskedKey: '', createdAt: 0 }),
  forget: afterDeployment.forgetKeys,
});

const locationKind = kindOf(
  'PrivateLocation',
  privateLocationRoutes.createPrivateLocation,
  (unit) => privateLocationHandlers(unit.services, keysOf(unit)),
  byText('id'),
);

export const locations: Kind = {
  ...locationKind,
  type: 'private-location',
  address: 'slugName',
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
  update: (unit, stored, { slugName: _same, ...body }) => locationKind.update(unit, stored, body),
  isOther: (stored, body) => stored['slugName'] !== body['slugName'],
};

const windowKind = kindOf(
  'MaintenanceWindow',
  maintenanceWindowRoutes.createMaintenanceWindow,
  ({ services }) => maintenanceWindowHandlers(services),
  byNumber,
);

export const windows: Kind = {
  ...windowKind,
  type: 'maintenance-window',
  own: ['timezone', 'description', 'pauseAllChecks', 'silenceAlertsTags', 'silenceAllAlerts'],
  parse: (payload, references, slugs) => ({
    tags: null,
    ...windowKind.parse(payload, references, slugs),
  }),
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
  // Instants may be written in many ways.
  isSame: (stored, body) =>
    isDeepStrictEqual(
      windowColumnsOf(stored as never),
      windowColumnsOf({ ...stored, ...body } as never),
    ),
};
