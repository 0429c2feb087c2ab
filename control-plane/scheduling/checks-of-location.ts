import type { Db } from '../db/tables.ts';
import { effectiveAmong, groupsOf } from '../checks/index.ts';

export interface WaitingCheck {
  id: string;
  name: string;
  groupId: number | null;
  /** Start of its present schedule. */
  scheduledAt: number;
  /** Since when it runs at the location, under this schedule or others before it. */
  assignedAt: number;
}

/** The active checks of a location whose notifications are not muted, by name. */
export async function checksWaitingIn(
  db: Db,
  { accountId, location }: { accountId: string; location: string },
): Promise<WaitingCheck[]> {
  const named = `%${JSON.stringify(location)}%`;
  const rows = await db
    .selectFrom('check_locations')
    .innerJoin('checks', 'checks.id', 'check_locations.check_id')
    .innerJoin('schedule_periods', (join) =>
      join
        .onRef('schedule_periods.check_id', '=', 'checks.id')
        .on('schedule_periods.ends_at', 'is', null),
    )
    .selectAll('checks')
    .select('schedule_periods.starts_at as scheduled_at')
    // A period with the location that follows none of the check with it.
    .select((select) =>
      select
        .selectFrom('schedule_periods as first')
        .select((of) => of.fn.max('first.starts_at').as('at'))
        .whereRef('first.check_id', '=', 'checks.id')
        .where('first.locations_json', 'like', named)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('schedule_periods as before')
                .select('before.id')
                .whereRef('before.check_id', '=', 'first.check_id')
                .whereRef('before.ends_at', '=', 'first.starts_at')
                .where('before.locations_json', 'like', named),
            ),
          ),
        )
        .as('assigned_at'),
    )
    .where('check_locations.account_id', '=', accountId)
    .where('check_locations.location', '=', location)
    .orderBy('checks.name')
    .orderBy('checks.id')
    .execute();
  const groups = await groupsOf(db, accountId, rows);
  return rows
    .filter((row) => effectiveAmong(row, groups)['muted'] !== true)
    .map((row) => ({
      id: row.id,
      name: row.name,
      groupId: row.group_id,
      ...{ scheduledAt: row.scheduled_at, assignedAt: row.assigned_at ?? row.scheduled_at },
    }));
}
