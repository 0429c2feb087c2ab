import type { Services } from '../core/services.ts';

/** Sessions are kept so long after their deadline; their results stay with the check. */
const sessionsKeptMs = 7 * 86_400_000;

/** Deletes sessions that nobody will ask for any more. */
export async function forgetSessions({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('check_sessions')
    .where('deadline', '<', clock.now() - sessionsKeptMs)
    .execute();
}
