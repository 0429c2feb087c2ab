import { deleteOldest } from '../db/delete-oldest.ts';
import { jsonValue } from '../db/expressions.ts';
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
  return commits.run(async (db) => {
    const deleted = [
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
    ];
    // Groups after their alerts, which would go with them uncounted.
    const mayHaveMore = [
      await deleteOldest(db, 'alert_decisions', { column: 'decided_at' }, before, atOnce),
      await deleteOldest(db, 'check_alerts', { column: 'created_at' }, before, atOnce),
      await deleteOldest(db, 'alert_groups', { key: 'id', column: 'last_sent_at' }, before, atOnce),
      await deleteOldest(
        db,
        'alert_acknowledgements',
        { key: 'id', column: 'created_at' },
        before,
        atOnce,
      ),
      await pruneAlertNotifications(db, before, atOnce),
    ];
    await pruneSlackMessages(db, before);
    return (
      mayHaveMore.includes(true) ||
      deleted.some(({ numDeletedRows }) => Number(numDeletedRows) >= atOnce)
    );
  });
}
