/**
 * What those who start and watch this process ask: `/-/liveness` and `/health` answer while it runs,
 * `/-/readiness` while the database answers too. Without a key, under every name it is called by.
 */
import { Router, type Response } from 'express';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';

function answer(response: Response, problem: string | null): void {
  response.status(problem === null ? 200 : 503).json({ status: problem ?? 'ok' });
}

/** Serves the health probes. */
export function serveHealth(db: Kysely<Database>): Router {
  const router = Router();
  router.get(['/-/liveness', '/health'], (_request, response) => {
    answer(response, null);
  });
  router.get('/-/readiness', async (_request, response) => {
    try {
      await sql`select 1`.execute(db);
      answer(response, null);
    } catch {
      answer(response, 'the database does not answer');
    }
  });
  return router;
}
