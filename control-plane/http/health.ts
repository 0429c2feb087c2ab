/**
 * What those who start and watch this process ask: `/-/liveness` and `/health` answer while it runs,
 * `/-/readiness` while the database answers too. Without a key, under every name it is called by. A full
 * disk is named and is no reason to be taken away: pages are read, and agents keep what is refused. So is a
 * clock that was set.
 */
import { Router, type Response } from 'express';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { DiskWatch } from '../disk-watch.ts';
import type { Reception } from '../reception.ts';

function answer(
  response: Response,
  problem: string | null,
  disk: DiskWatch,
  reception: Reception,
): void {
  const { lastStep } = reception;
  response.status(problem === null ? 200 : 503).json({
    status: problem ?? disk.problem ?? reception.clockProblem ?? 'ok',
    lastClockStep:
      lastStep === null ? null : { at: new Date(lastStep.to).toISOString(), byMs: lastStep.stepMs },
  });
}

/** Serves the health probes. */
export function serveHealth(db: Kysely<Database>, disk: DiskWatch, reception: Reception): Router {
  const router = Router();
  router.get(['/-/liveness', '/health'], (_request, response) => {
    answer(response, null, disk, reception);
  });
  router.get('/-/readiness', async (_request, response) => {
    try {
      await sql`select 1`.execute(db);
      answer(response, null, disk, reception);
    } catch {
      answer(response, 'the database does not answer', disk, reception);
    }
  });
  return router;
}
