import type { LiveLogLine } from '@monitor/shared/contract/agent-protocol.ts';
import type { Services } from '../../core/services.ts';
import { notFound } from '../../errors/api-error.ts';
import { encryptsResults } from '../../scheduling/index.ts';
import { updateOwnRows } from '../../db/own-rows.ts';

/** Of one run; its result holds more. */
const maxLogBytes = 4_194_304;

/**
 * Stores what a run has printed since, for the client that watches it. Throws 404 when none does, and where
 * results are encrypted: an agent may have begun the run before it knew the keys.
 */
export async function storeTestLogs(
  services: Services,
  { accountId, location }: { accountId: string; location: string },
  { runId, position, lines }: { runId: string; position: number; lines: readonly LiveLogLine[] },
): Promise<void> {
  const { clock, commits, runs } = services;
  const text = JSON.stringify(lines);
  await commits.run(async (db) => {
    if (await encryptsResults(db, { accountId, location })) throw notFound('watched run', runId);
    const { numUpdatedRows } = await updateOwnRows(db, 'test_results', accountId)
      .set((set) => ({ log_bytes: set('log_bytes', '+', text.length) }))
      .where('location', '=', location)
      .where('run_id', '=', runId)
      .where('outcome', 'is', null)
      .where('log_bytes', '<', maxLogBytes)
      .where('session_id', 'in', (sessions) =>
        sessions.selectFrom('test_sessions').select('id').where('streams_logs', '=', 1),
      )
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw notFound('watched run', runId);
    await db
      .insertInto('test_logs')
      .values({ run_id: runId, position, lines_json: text, created_at: clock.now() })
      .onConflict((conflict) => conflict.columns(['run_id', 'position']).doNothing())
      .execute();
  });
  runs.ended([runId]);
}
