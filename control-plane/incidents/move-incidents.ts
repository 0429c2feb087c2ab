import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { clampInstants, type GapConsumer } from '../reception/index.ts';
import type { Database } from '../db/tables.ts';

/**
 * What was public before the clock was set back stays public: an update that resolved an incident would else lie in the
 * future, and a new outage would find the incident open. Updates that people have planned for later stay planned.
 */
export const moveIncidents: GapConsumer = async (db, gap) => {
  const { from, to, stepMs } = gap;
  if (stepMs >= 0) return;
  const wasPublic = ({ and, or, ref, eb }: Of): Expression<SqlBool> =>
    and([
      eb('public_at', '>', to),
      or([eb('public_at', '<=', from), eb('public_at', '<=', ref('created_at'))]),
    ]);
  await db
    .updateTable('incident_announcements')
    .set({ due_at: to })
    .where('incident_update_id', 'in', (select) =>
      select.selectFrom('incident_updates').select('id').where(wasPublic),
    )
    .execute();
  await db.updateTable('incident_updates').set({ public_at: to }).where(wasPublic).execute();
  await clampInstants(db, gap, 'incident_updates', ['created_at']);
  await clampInstants(db, gap, 'incidents', ['created_at', 'updated_at']);
};
type Of = ExpressionBuilder<Database, 'incident_updates'>;
