import type { Services } from '../core/services.ts';

/** Retention after the deadline of a session; its results belong to the check. */
const sessionsKeptMs = 7 * 86_400_000;

/** Deletes old sessions. */
export async function forgetSessions({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('check_sessions')
    .where('deadline', '<', clock.now() - sessionsKeptMs)
    .execute();
}
