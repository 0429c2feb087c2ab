/**
 * Health probes, without a key and under every host name. `/-/liveness` and `/health` answer while
 * the process runs, `/-/readiness` while the database answers too: a server may be away for
 * `toleratedMs` since it answered last, because a failover takes a moment and all replicas would lose
 * their visitors. A full disk, a damaged database or a clock that was set appears as a warning and
 * keeps the process ready: pages can be read, and agents keep what is refused.
 */
import { Router, type Response } from 'express';
import { sql } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import { engineOf } from '../db/engine.ts';
import type { Db } from '../db/tables.ts';
import type { Reception } from '../reception/index.ts';
import type { Replicas } from '../replicas/index.ts';

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

/** A frozen server answers nothing, not even an error. */
const answersWithinMs = 2_000;
const toleratedMs = 10_000;

/** Serves the health probes. `warning` gives the text of the present problem, or null. */
export function serveHealth(
  db: Db,
  clock: Clock,
  { reception, replicas }: { reception: Reception; replicas: Pick<Replicas, 'answeredAt'> },
  warning: () => string | null,
): Router {
  let probedAt = Number.NEGATIVE_INFINITY;
  const asked = async (): Promise<boolean> => {
    const timeLimit = Promise.withResolvers<boolean>();
    const cancel = clock.after(answersWithinMs, () => {
      timeLimit.resolve(false);
    });
    const asking = sql`select 1`.execute(db).then(
      () => true,
      () => false,
    );
    const isThere = await Promise.race([asking, timeLimit.promise]);
    cancel();
    return isThere;
  };
  const router = Router();
  router.get(['/-/liveness', '/health'], (_request, response) => {
    answer(response, null, warning(), reception);
  });
  router.get('/-/readiness', async (_request, response) => {
    const isThere = await asked();
    if (isThere) probedAt = clock.monotonic();
    const awayMs = clock.monotonic() - Math.max(probedAt, replicas.answeredAt);
    const isReady = isThere || (engineOf(db) === 'postgres' && awayMs < toleratedMs);
    answer(response, isReady ? null : 'the database does not answer', warning(), reception);
  });
  return router;
}
