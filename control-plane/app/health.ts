/**
 * Health probes, without a key and under every host name. `/-/liveness` and `/health` answer while
 * the process runs, `/-/readiness` while the database answers too. A full disk, a damaged database
 * or a clock that was set appears as a warning and keeps the process ready: pages can be read, and
 * agents keep what is refused.
 */
import { Router, type Response } from 'express';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { Reception } from '../reception/index.ts';

function answer(
  response: Response,
  problem: string | null,
  warning: string | null,
  reception: Reception,
): void {
  const { lastStep } = reception;
  response.status(problem === null ? 200 : 503).json({
    status: problem ?? warning ?? 'ok',
    ...(lastStep === null
      ? {}
      : { lastClockStep: { at: new Date(lastStep.to).toISOString(), byMs: lastStep.stepMs } }),
  });
}

/** Serves the health probes. `warning` gives the text of the present problem, or null. */
export function serveHealth(
  db: Kysely<Database>,
  reception: Reception,
  warning: () => string | null,
): Router {
  const router = Router();
  router.get(['/-/liveness', '/health'], (_request, response) => {
    answer(response, null, warning(), reception);
  });
  router.get('/-/readiness', async (_request, response) => {
    try {
      await sql`select 1`.execute(db);
      answer(response, null, warning(), reception);
    } catch {
      answer(response, 'the database does not answer', null, reception);
    }
  });
  return router;
}
