/** Opens the database whole, with the clock, the key and the standby that belong to it. */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { askDatabase, DatabaseClock } from '../core/database-clock.ts';
import { engineOf } from '../db/engine.ts';
import { ReadPool } from '../db/read-pool.ts';
import { trying } from '../errors/operator-error.ts';
import { IntegrityWatch, openFittingKey, openStandby, openWhole } from '../integrity/index.ts';
import type { ControlPlaneParts } from './parts.ts';

/** What `stack` closes again. Throws when the database cannot be served. */
export async function openDatabase(stack: AsyncDisposableStack, parts: ControlPlaneParts) {
  const { config, logger, clock: ownClock = systemClock, acceptNewKey = false } = parts;
  const { followsDatabase = ownClock === systemClock } = parts;
  // A server has no file here, as a database in memory.
  const databaseFile = config.DATABASE_URL === undefined ? config.DATABASE_FILE : ':memory:';
  if (databaseFile !== ':memory:') {
    await trying(`make the folder of ${databaseFile}`, () => makeFolders(dirname(databaseFile)));
  }
  const integrity = stack.use(
    new IntegrityWatch({
      databaseFile,
      clock: ownClock,
      logger: logger.child({ subsystem: 'integrity' }),
    }),
  );
  const replicaId = randomUUID();
  const db = await openWhole(config, integrity, {
    ...{ replicaId, logger, clock: ownClock },
    // Others would go on with the lost key, and what they encrypt would be lost as well.
    mustBeAlone: acceptNewKey,
  });
  stack.defer(() => db.destroy());
  const databaseClock =
    engineOf(db) === 'postgres' && followsDatabase
      ? stack.use(await DatabaseClock.open(ownClock, () => askDatabase(db), logger))
      : null;
  const clock: Clock = databaseClock ?? ownClock;
  const secrets = await openFittingKey(db, config, acceptNewKey);
  const standbyLogger = logger.child({ subsystem: 'standby' });
  const standby = await openStandby(config, db, replicaId);
  stack.defer(() => standby?.destroy());
  const readPool = stack.use(
    new ReadPool({ primary: db, standby, clock, replicaId, logger: standbyLogger }),
  );
  return { db, databaseFile, integrity, replicaId, clock, databaseClock, secrets, readPool };
}

export type OpenDatabase = Awaited<ReturnType<typeof openDatabase>>;
