/** Dashboards. */
import { randomBytes, randomInt } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import type { z } from 'zod';
import type {
  dashboard,
  DashboardFields,
  dashboardRoutes,
} from '@monitor/shared/contract/dashboard.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { notFound } from '../../errors/api-error.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { Database } from '../../db/tables.ts';
import type { DashboardsTable } from '../tables.ts';
import { mapRawKeys } from '../../core/decide/credentials.ts';
import { seesLockedValues } from '../../core/decide/hidden-values.ts';
import type { Handlers } from '../../http/implement.ts';
import { refuseTakenAddresses } from '../../core/unique-addresses.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import type { Services } from '../../core/services.ts';

type Row = Selectable<DashboardsTable>;
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

export function dashboardFieldsOf(row: Row, secrets: SecretCipher): DashboardFields {
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

function toWire(row: Row, role: Role, secrets: SecretCipher): z.input<typeof dashboard> {
  const fields = dashboardFieldsOf(row, secrets);
  return {
    ...fields,
    // The key of a private dashboard grants access.
    keys: seesLockedValues(role) ? fields.keys : [],
    id: row.id,
    dashboardId: row.dashboard_id,
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
  };
}

const columnOfType = { customUrl: 'custom_url', customDomain: 'custom_domain' } as const;

function refuseTaken(
  db: Kysely<Database>,
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

export function dashboardHandlers(services: Services): Handlers<typeof dashboardRoutes> {
  const { db, clock, commits, secrets } = services;

  const dashboardsOf = (unit: Kysely<Database>, accountId: string) =>
    ownRows(unit, 'dashboards', accountId);

  return {
    listDashboards: async ({ query }, { principal, setTotal }) => {
      const dashboards = dashboardsOf(db, principal.accountId).orderBy('id');
      const { rows, total, offset } = await readPage(dashboards, query);
      setTotal(total, offset, rows.length);
      return rows.map((row) => toWire(row, principal.role, secrets));
    },

    createDashboard: ({ body }, { principal }) =>
      commits.run(async (unit) => {
        const columns = toColumns(withFirstKey(body, services), principal.accountId, secrets);
        await refuseTaken(unit, columns, null);
        const row = await unit
          .insertInto('dashboards')
          .values({
            dashboard_id: newDashboardId(),
            account_id: principal.accountId,
            ...columns,
            created_at: clock.now(),
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        return toWire(row, principal.role, secrets);
      }),

    getDashboard: async ({ params, query }, { principal }) => {
      const { type } = query;
      const dashboards = dashboardsOf(db, principal.accountId);
      const found =
        type === undefined
          ? dashboards.where('dashboard_id', '=', params.dashboardId)
          : dashboards.where(columnOfType[type], '=', params.dashboardId.toLowerCase());
      const row = await found.executeTakeFirstOrThrow(() =>
        notFound('dashboard', params.dashboardId),
      );
      return toWire(row, principal.role, secrets);
    },

    updateDashboard: ({ params, body }, { principal }) =>
      commits.run(async (unit) => {
        const { accountId } = principal;
        const before = await dashboardsOf(unit, accountId)
          .where('dashboard_id', '=', params.dashboardId)
          .executeTakeFirstOrThrow(() => notFound('dashboard', params.dashboardId));
        const fields = { ...dashboardFieldsOf(before, secrets), ...body };
        const columns = toColumns(withFirstKey(fields, services), accountId, secrets);
        await refuseTaken(unit, columns, before.id);
        const changes = { ...columns, updated_at: clock.now() };
        await updateOwnRows(unit, 'dashboards', accountId)
          .set(changes)
          .where('id', '=', before.id)
          .execute();
        return toWire({ ...before, ...changes }, principal.role, secrets);
      }),

    deleteDashboard: async ({ params }, { principal }) => {
      const { numDeletedRows } = await deleteOwnRows(db, 'dashboards', principal.accountId)
        .where('dashboard_id', '=', params.dashboardId)
        .executeTakeFirst();
      if (numDeletedRows === 0n) throw notFound('dashboard', params.dashboardId);
      return undefined;
    },
  };
}
