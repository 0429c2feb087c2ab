import type { Services } from '../../core/services.ts';
import { findTestSession, type TestSessionRow } from './store.ts';
import { settleTestSession } from './settle.ts';

/** What ends without a message of a run, such as its deadline, is noticed this often. */
const lookEveryMs = 1_000;

/** The session once it has ended, or as it is after the time limit or when the control plane stops. */
export async function awaitTestSession(
  services: Services,
  session: TestSessionRow,
  withinMs: number,
  signal: AbortSignal,
): Promise<TestSessionRow> {
  const { clock, db, runs } = services;
  const until = clock.monotonic() + withinMs;
  for (;;) {
    // Subscribed before the state is read, so that no end is missed.
    const read = new AbortController();
    const leftMs = Math.max(0, until - clock.monotonic());
    const open = await db
      .selectFrom('test_results')
      .select('run_id')
      .where('session_id', '=', session.id)
      .where('outcome', 'is', null)
      .execute();
    const next = runs.nextEnd(
      [session.id, ...open.map((row) => row.run_id)],
      Math.min(leftMs, lookEveryMs),
      AbortSignal.any([signal, read.signal]),
    );
    await settleTestSession(services, session);
    const now = (await findTestSession(db, session.account_id, session.id)) ?? session;
    if (now.stopped_at !== null || leftMs <= 0 || signal.aborted || runs.isClosed) {
      read.abort();
      await next;
      return now;
    }
    await next;
  }
}
