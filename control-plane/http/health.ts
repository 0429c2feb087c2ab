/**
 * What those who start and watch this process ask: `/-/liveness` and `/health` answer while it runs,
 * `/-/readiness` while the database answers too. Without a key, under every name it is called by. A full
 * disk is named and is no reason to be taken away: pages are read, and agents keep what is refused.
 */
import { Router, type Response } from 'express';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { DiskWatch } from '../disk-watch.ts';

function answer(response: Response, problem: string | null, warning: string | null): void {
  response.status(problem === null ? 200 : 503).json({ status: problem ?? warning ?? 'ok' });
}

/** Serves the health probes. */
export function serveHealth(db: Kysely<Database>, disk: DiskWatch): Router {
  const router = Router();
  router.get(['/-/liveness', '/health'], (_request, response) => {
    answer(response, null, disk.problem);
  });
  router.get('/-/readiness', async (_request, response) => {
    try {
      await sql`select 1`.execute(db);
      answer(response, null, disk.problem);
    } catch {
      answer(response, 'the database does not answer', null);
    }
  });
  return router;
}
