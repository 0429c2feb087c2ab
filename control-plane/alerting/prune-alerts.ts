import { jsonValue, keysBefore } from '../db/expressions.ts';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { pruneAlertNotifications, pruneSlackMessages } from '../notifications/index.ts';

const atOnce = 1_000;

/**
 * Deletes decisions, alerts and notifications that are older than the retention of results. True
 * when there may be more.
 */
export async function pruneAlerts(
  { clock, commits }: Pick<Services, 'clock' | 'commits'>,
  retentionMs: number,
): Promise<boolean> {
  const before = clock.now() - retentionMs;
  const old = <Key extends 'seq' | 'id'>(table: keyof Database, key: Key, column: string) =>
    keysBefore({ table, key, column }, before, atOnce);
  return commits.run(async (db) => {
    const deleted = [
      await db
        .deleteFrom('alert_decisions')
        .where('seq', 'in', old('alert_decisions', 'seq', 'decided_at'))
        .executeTakeFirst(),
      await db
        .deleteFrom('check_alerts')
        .where('seq', 'in', old('check_alerts', 'seq', 'created_at'))
        .executeTakeFirst(),
      await db
        .deleteFrom('grouped_alerts')
        .where('seq', 'in', (rows) =>
          rows
            .selectFrom('grouped_alerts')
            .select('seq')
            .where('joined_at', '<', before)
            .where('message_id', 'is not', null)
            .limit(atOnce),
        )
        .executeTakeFirst(),
      await db
        .deleteFrom('alert_groups')
        .where('id', 'in', old('alert_groups', 'id', 'last_sent_at'))
        .executeTakeFirst(),
      await db
        .deleteFrom('alert_acknowledgements')
        .where('id', 'in', old('alert_acknowledgements', 'id', 'created_at'))
        .executeTakeFirst(),
      // What has lost its outage; an outage may last longer than alerts are kept.
      await db
        .deleteFrom('escalations')
        .where(({ eb, refTuple }) =>
          eb(
            refTuple('check_id', 'incident_key'),
            'in',
            db
              .selectFrom('escalations as old')
              .select(['old.check_id', 'old.incident_key'])
              .where('old.started_at', '<', before)
              .where(({ not, exists, selectFrom }) =>
                not(
                  exists(
                    selectFrom('alert_states')
                      .select('alert_states.check_id')
                      .whereRef('alert_states.check_id', '=', 'old.check_id')
                      .whereRef(jsonValue('state_json', '$.alert.key'), '=', 'old.incident_key'),
                  ),
                ),
              )
              .limit(atOnce)
              .$asTuple('check_id', 'incident_key'),
          ),
        )
        .executeTakeFirst(),
      await pruneAlertNotifications(db, before, atOnce),
    ];
    await pruneSlackMessages(db, before);
    return deleted.some(({ numDeletedRows }) => Number(numDeletedRows) >= atOnce);
  });
}
