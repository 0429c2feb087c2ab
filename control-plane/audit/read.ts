/** Reads the audit log of an account. */
import { sql } from 'kysely';
import type { z } from 'zod';
import type { auditRoutes } from '@monitor/shared/contract/audit-log.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ownRows } from '../db/own-rows.ts';

export type AuditRow = RowOf<'audit_log'>;
type Filters = Omit<z.output<typeof auditRoutes.exportAuditLog.query>, 'format'>;

const searched = ['actor_name', 'operation', 'resource_name', 'resource_id', 'address'] as const;

/** Text that is looked for as it stands, in any case. */
function pattern(text: string): string {
  return `%${text.toLowerCase().replaceAll(/[\\%_]/g, (sign) => `\\${sign}`)}%`;
}

/** At most `limit` entries before or after one of them, by `seq`. */
export function readAuditLog(
  db: Db,
  accountId: string,
  filters: Filters,
  page: { limit: number; order: 'asc' | 'desc'; beyond?: number | undefined },
): Promise<AuditRow[]> {
  const { from, to, search, actorId, operation, outcome, resourceType, resourceId } = filters;
  let query = ownRows(db, 'audit_log', accountId);
  if (from !== undefined) query = query.where('at', '>=', from);
  if (to !== undefined) query = query.where('at', '<', to);
  if (actorId !== undefined) query = query.where('actor_id', '=', actorId);
  if (operation !== undefined) query = query.where('operation', '=', operation);
  if (outcome !== undefined) query = query.where('outcome', '=', outcome);
  if (resourceType !== undefined) query = query.where('resource_type', '=', resourceType);
  if (resourceId !== undefined) query = query.where('resource_id', '=', resourceId);
  if (search !== undefined) {
    query = query.where(({ or }) =>
      or(
        searched.map(
          (column) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern(search)} escape '\\'`,
        ),
      ),
    );
  }
  const { limit, order, beyond } = page;
  if (beyond !== undefined) query = query.where('seq', order === 'asc' ? '>' : '<', beyond);
  return query.orderBy('seq', order).limit(limit).execute();
}
