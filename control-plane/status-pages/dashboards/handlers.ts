/** Dashboards. */
import { randomBytes, randomInt } from 'node:crypto';
import type { z } from 'zod';
import type {
  dashboard,
  DashboardFields,
  dashboardRoutes,
} from '@monitor/shared/contract/dashboard.ts';
import { fromJson, stampsOf, toTimestamp } from '../../db/columns.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { mapRawKeys } from '../../core/decide/credentials.ts';
import { seesLockedValues } from '../../core/decide/hidden-values.ts';
import type { Handlers } from '../../http/handlers.ts';
import { entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import { refuseTakenAddresses } from '../../core/unique-addresses.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import type { Services } from '../../core/services.ts';

type Row = RowOf<'dashboards'>;
/** Older rows have neither. */
type Address = 'customUrl' | 'customDomain';
type StoredFields = Omit<DashboardFields, Address> & Partial<Pick<DashboardFields, Address>>;

const idAlphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 8;

/** Random, so that ids of other dashboards cannot be guessed. */
function newDashboardId(): string {
  const letters = Array.from({ length: idLength }, () => idAlphabet[randomInt(idAlphabet.length)]);
  return letters.join('');
}

/** A private dashboard has a key from the start: existing clients read the first one. */
function withFirstKey(
  fields: DashboardFields,
  { clock, newId }: Pick<Services, 'clock' | 'newId'>,
): DashboardFields {
  if (!fields.isPrivate || fields.keys.length > 0) return fields;
  const rawKey = `da_${randomBytes(32).toString('hex')}`;
  const maskedKey = `da_…${rawKey.slice(-4)}`;
  const created_at = toTimestamp(clock.now());
  return { ...fields, keys: [{ id: newId(), rawKey, maskedKey, created_at, updated_at: null }] };
}

function dashboardFieldsOf(row: Row, secrets: SecretCipher): DashboardFields {
  const stored = fromJson<StoredFields>(row.body_json);
  return {
    customUrl: row.custom_url,
    customDomain: row.custom_domain,
    ...stored,
    keys: mapRawKeys(stored.keys, (value) => secrets.decryptStored(value, row.account_id)),
  };
}

/** Lower-case columns for look-ups; the body keeps the given spelling. */
function toColumns(fields: DashboardFields, accountId: string, secrets: SecretCipher) {
  const keys = mapRawKeys(fields.keys, (value) => secrets.encrypt(value, accountId));
  return {
    custom_url: fields.customUrl?.toLowerCase() ?? null,
    custom_domain: fields.customDomain?.toLowerCase() ?? null,
    body_json: JSON.stringify({ ...fields, keys }),
  };
}

const columnOfType = { customUrl: 'custom_url', customDomain: 'custom_domain' } as const;

function refuseTaken(
  db: Db,
  address: Pick<Row, 'custom_url' | 'custom_domain'>,
  ownId: number | null,
): Promise<void> {
  return refuseTakenAddresses(
    { customUrl: address.custom_url, customDomain: address.custom_domain },
    ownId,
    (field, value) =>
      db
        .selectFrom('dashboards')
        .select('id')
        .where(columnOfType[field], '=', value)
        .executeTakeFirst(),
  );
}

export const dashboardsOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'dashboards', noun: 'dashboard', key: 'dashboard_id', order: ['id'] } as const),
    isNumbered: true,
    fresh: (now) => ({ dashboard_id: newDashboardId(), created_at: now, updated_at: null }),
    fieldsOf: (row) => dashboardFieldsOf(row, services.secrets),
    async toColumns(fields: DashboardFields, { unit, accountId, before }) {
      const columns = toColumns(withFirstKey(fields, services), accountId, services.secrets);
      await refuseTaken(unit, columns, before?.id ?? null);
      return columns;
    },
    present: (rows, { role }) =>
      rows.map((row): z.input<typeof dashboard> => {
        const fields = dashboardFieldsOf(row, services.secrets);
        // The key of a private dashboard grants access.
        const keys = seesLockedValues(role) ? fields.keys : [];
        return { ...fields, keys, id: row.id, dashboardId: row.dashboard_id, ...stampsOf(row) };
      }),
  });

export function dashboardHandlers(services: Services): Handlers<typeof dashboardRoutes> {
  const dashboards = dashboardsOf(services);
  return {
    listDashboards: listPages(dashboards),
    ...entryHandlers('Dashboard', 'dashboardId', dashboards),

    getDashboard: async ({ params, query: { type } }, { principal }) => {
      const column = type === undefined ? 'dashboard_id' : columnOfType[type];
      const name = type === undefined ? params.dashboardId : params.dashboardId.toLowerCase();
      const row = await dashboards.get(principal.accountId, name, { column });
      return dashboards.presentOne(row, principal);
    },
  };
}
