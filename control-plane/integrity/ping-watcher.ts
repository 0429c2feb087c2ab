/** Another installation watches this one: by a heartbeat there, which fails when pings stay away. */
import { writeFact } from '../db/installation.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';

const answersWithinMs = 10_000;

/**
 * Operation of a timer. It pings only after a write was committed, so a database that is away or full
 * is noticed there. The address has a token, so no error names it.
 */
export async function pingWatcher(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  pingUrl: string,
): Promise<void> {
  await inTransaction(db, (unit) => writeFact(unit, 'pinged_watcher_at', String(clock.now())));
  let problem: string;
  try {
    const { ok, status } = await fetch(pingUrl, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(answersWithinMs),
    });
    if (ok) return;
    problem = `it answered ${status}`;
  } catch (error) {
    const { cause, name } = error as Error;
    problem = (cause as NodeJS.ErrnoException | undefined)?.code ?? name;
  }
  throw new Error(`the heartbeat at HEARTBEAT_URL took no ping: ${problem}`);
}
