/** Which alerts are open, and who took them on. */
import type { Kysely, Selectable } from 'kysely';
import type { z } from 'zod';
import { maxOpenAlerts, type checkAlert } from '@monitor/shared/contract/alert-notification.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { eachOf } from '../../db/expressions.ts';
import type { Database } from '../../db/tables.ts';
import type { OpenAlert } from '../decide/state.ts';
import { readStates, toState } from '../state-rows.ts';
import type { CheckAlertsTable } from '../tables.ts';

type Row = Selectable<CheckAlertsTable>;
type Wire = z.input<typeof checkAlert>;
type Facts = Pick<Wire, 'open' | 'acknowledgement'>;

/** The ids of the newest alert of each open outage of an account. */
export async function openAlertIds(
  db: Kysely<Database>,
  accountId: string,
  checkId?: string,
): Promise<string[]> {
  let states = db
    .selectFrom('alert_states')
    .select(['check_id', 'state_json'])
    .where('account_id', '=', accountId)
    .limit(maxOpenAlerts);
  if (checkId !== undefined) states = states.where('check_id', '=', checkId);
  const keys = new Map(
    (await states.execute()).flatMap((row) => {
      const { alert } = toState(row.state_json);
      return alert === null || alert.isOver ? [] : [[row.check_id, alert.key]];
    }),
  );
  if (keys.size === 0) return [];
  const rows = await db
    .selectFrom('check_alerts')
    .select(['id', 'incident_key'])
    .where('account_id', '=', accountId)
    .where('check_id', 'in', eachOf([...keys.keys()]))
    .where('incident_key', 'in', eachOf([...keys.values()]))
    .orderBy('seq')
    .execute();
  return [...new Map(rows.map((row) => [row.incident_key, row.id])).values()];
}

/** The newest acknowledgement of each outage, by incident key. */
async function acknowledgementsOf(db: Kysely<Database>, rows: readonly Row[]) {
  const found = await db
    .selectFrom('alert_acknowledgements')
    .select(['incident_key', 'kind', 'made_by', 'created_at', 'until_at'])
    .where('check_id', 'in', eachOf(rows.map((row) => row.check_id)))
    .where('incident_key', 'in', eachOf(rows.flatMap((row) => row.incident_key ?? [])))
    .orderBy('created_at')
    .execute();
  return new Map(found.map((row) => [row.incident_key, row]));
}

/** A change between degraded and failing is to be acknowledged again. */
const needsAnother = (alert: OpenAlert | null): boolean =>
  alert !== null && alert.acknowledged === undefined;

/** What is known beside the rows of a page, in their order. */
export async function openFactsOf(db: Kysely<Database>, rows: readonly Row[]): Promise<Facts[]> {
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
