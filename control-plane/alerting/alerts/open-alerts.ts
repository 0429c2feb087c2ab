/** Which alerts are open, and who took them on. */
import { sql } from 'kysely';
import type { z } from 'zod';
import { maxOpenAlerts, type checkAlert } from '@monitor/shared/contract/alert-notification.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { eachOf, jsonFlag, jsonValue } from '../../db/expressions.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import type { OpenAlert } from '../decide/state.ts';
import { readStates } from '../state-rows.ts';

type Row = RowOf<'check_alerts'>;
type Wire = z.input<typeof checkAlert>;
type Facts = Pick<Wire, 'open' | 'acknowledgement'>;

/** The newest alert of each open outage of an account, by its `seq`; the newest outages when there are many. */
export function newestOfOpen(db: Db, accountId: string, checkId?: string) {
  const key = jsonValue<string>('state_json', '$.alert.key');
  let open = db
    .selectFrom('alert_states')
    .select(['check_id', sql<string>`${key}`.as('incident_key')])
    .where('account_id', '=', accountId)
    .where(key, 'is not', null)
    .where(jsonFlag('state_json', '$.alert.isOver'), '=', 0)
    .orderBy('failing_since', (by) => by.desc().nullsLast())
    .orderBy('check_id')
    .limit(maxOpenAlerts);
  if (checkId !== undefined) open = open.where('check_id', '=', checkId);
  return db
    .selectFrom('check_alerts')
    .innerJoin(open.as('open'), (join) =>
      join
        .onRef('open.check_id', '=', 'check_alerts.check_id')
        .onRef('open.incident_key', '=', 'check_alerts.incident_key'),
    )
    .select((of) => of.fn.max<number>('check_alerts.seq').as('seq'))
    .groupBy(['check_alerts.check_id', 'check_alerts.incident_key']);
}

/** The newest acknowledgement of each outage, by incident key. */
async function acknowledgementsOf(db: Db, rows: readonly Row[]) {
  const found = await db
    .selectFrom('alert_acknowledgements')
    .select(['incident_key', 'kind', 'made_by', 'created_at', 'until_at'])
    .where('check_id', 'in', eachOf(rows.map((row) => row.check_id)))
    .where('incident_key', 'in', eachOf(rows.flatMap((row) => row.incident_key ?? [])))
    .where('kind', '!=', 'MUTED')
    .$narrowType<{ kind: 'ACKNOWLEDGED' | 'SNOOZED' }>()
    .orderBy('created_at')
    .execute();
  return new Map(found.map((row) => [row.incident_key, row]));
}

/** A change between degraded and failing is to be acknowledged again. */
const needsAnother = (alert: OpenAlert | null): boolean =>
  alert !== null && alert.acknowledged === undefined;

/** What is known beside the rows of a page, in their order. */
export async function openFactsOf(db: Db, rows: readonly Row[]): Promise<Facts[]> {
  if (rows.length === 0) return [];
  const states = await readStates(db, [...new Set(rows.map((row) => row.check_id))]);
  const taken = await acknowledgementsOf(db, rows);
  return rows.map((row) => {
    const alert = states.get(row.check_id)?.alert ?? null;
    const isOpen = alert !== null && !alert.isOver && alert.key === row.incident_key;
    const found = taken.get(row.incident_key ?? '');
    return {
      open: isOpen,
      acknowledgement:
        found === undefined || (isOpen && needsAnother(alert))
          ? null
          : {
              kind: found.kind,
              by: found.made_by,
              until: toTimestampOrNull(found.until_at),
              created_at: toTimestamp(found.created_at),
            },
    };
  });
}
