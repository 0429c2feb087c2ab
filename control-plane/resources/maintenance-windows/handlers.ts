/** Maintenance windows. */
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type {
  maintenanceWindow,
  maintenanceWindowRoutes,
} from '@monitor/shared/contract/maintenance-window.ts';
import { invalidField, notFound } from '../../api-error.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { readPage } from '../../db/page.ts';
import type { MaintenanceWindowsTable } from '../../db/tables.ts';
import type { Handlers } from '../../http/implement.ts';
import { readInstant } from '../../instant.ts';
import type { Services } from '../../services.ts';

type Row = Selectable<MaintenanceWindowsTable>;
type Wire = z.input<typeof maintenanceWindow>;
type Fields = Pick<
  Wire,
  'name' | 'startsAt' | 'endsAt' | 'repeatUnit' | 'repeatInterval' | 'repeatEndsAt' | 'tags'
>;

function fieldsOf(row: Row): Fields {
  return {
    name: row.name,
    startsAt: toTimestamp(row.starts_at),
    endsAt: toTimestamp(row.ends_at),
    repeatUnit: row.repeat_unit as Wire['repeatUnit'],
    repeatInterval: row.repeat_interval,
    repeatEndsAt: toTimestampOrNull(row.repeat_ends_at),
    tags: fromJson<string[]>(row.tags_json),
  };
}

function toWire(row: Row): Wire {
  return {
    id: row.id,
    ...fieldsOf(row),
    created_at: toTimestamp(row.created_at),
    updated_at: toTimestampOrNull(row.updated_at),
  };
}

/** An instant without an offset is one in UTC, wherever this program runs. */
function instantOf(text: string, field: string): number {
  const hasTime = text.includes('T');
  const hasOffset = /(Z|[+-]\d{2}:?\d{2})$/i.test(text.slice(text.indexOf('T')));
  return readInstant(hasTime && !hasOffset ? `${text}Z` : text, field);
}

/** Refuses a window that never opens. */
function toColumns(fields: Fields) {
  const startsAt = instantOf(fields.startsAt, 'startsAt');
  const endsAt = instantOf(fields.endsAt, 'endsAt');
  const repeatEndsAt =
    fields.repeatEndsAt === null ? null : instantOf(fields.repeatEndsAt, 'repeatEndsAt');
  if (endsAt <= startsAt) throw invalidField('endsAt', 'must be after "startsAt"');
  if (repeatEndsAt !== null && repeatEndsAt < startsAt) {
    throw invalidField('repeatEndsAt', 'must not be before "startsAt"');
  }
  return {
    name: fields.name,
    starts_at: startsAt,
    ends_at: endsAt,
    repeat_unit: fields.repeatUnit,
    repeat_interval: fields.repeatInterval,
    repeat_ends_at: repeatEndsAt,
    tags_json: JSON.stringify([...new Set(fields.tags)]),
  };
}

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const columns = { startsAt: 'starts_at', endsAt: 'ends_at' } as const;

export function maintenanceWindowHandlers({
  db,
  clock,
}: Services): Handlers<typeof maintenanceWindowRoutes> {
  const get = async (accountId: string, id: number): Promise<Row> => {
    const row = await db
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .executeTakeFirst();
    if (row === undefined) throw notFound('maintenance window', String(id));
    return row;
  };

  return {
    listMaintenanceWindows: async ({ query }, { principal, setTotal }) => {
      let windows = db
        .selectFrom('maintenance_windows')
        .selectAll()
        .where('account_id', '=', principal.accountId)
        .orderBy('id');
      for (const field of ['startsAt', 'endsAt'] as const) {
        for (const bound of ['gt', 'gte', 'lt', 'lte'] as const) {
          const instant = query[`${field}[${bound}]`];
          if (instant !== undefined) {
            windows = windows.where(columns[field], operators[bound], instant);
          }
        }
      }
      const { rows, total, offset } = await readPage(windows, query);
      setTotal(total, offset, rows.length);
      return rows.map(toWire);
    },

    createMaintenanceWindow: async ({ body }, { principal }) => {
      const row = await db
        .insertInto('maintenance_windows')
        .values({
          account_id: principal.accountId,
          ...toColumns(body),
          created_at: clock.now(),
          updated_at: null,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return toWire(row);
    },

    getMaintenanceWindow: async ({ params }, { principal }) =>
      toWire(await get(principal.accountId, params.id)),

    updateMaintenanceWindow: async ({ params, body }, { principal }) => {
      const before = await get(principal.accountId, params.id);
      const after: Row = {
        ...before,
        ...toColumns({ ...fieldsOf(before), ...body }),
        updated_at: clock.now(),
      };
      await db
        .updateTable('maintenance_windows')
        .set(after)
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.id)
        .execute();
      return toWire(after);
    },

    deleteMaintenanceWindow: async ({ params }, { principal }) => {
      await get(principal.accountId, params.id);
      await db
        .deleteFrom('maintenance_windows')
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.id)
        .execute();
      return undefined;
    },
  };
}
