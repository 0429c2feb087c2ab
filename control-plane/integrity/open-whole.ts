/** Opens the database for `serve`, or explains why it must not be opened, and what to do. */
import { statSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Config } from '../core/config.ts';
import { databaseFailure } from '../db/failure.ts';
import { readMove } from '../db/installation.ts';
import { migrateToLatest, migrationState } from '../db/migrate.ts';
import { openDatabase, openInMemory } from '../db/open.ts';
import { openPostgres, refusalOfServer } from '../db/postgres.ts';
import type { Db } from '../db/tables.ts';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';
import { damageAdvice, refusalToOpen } from './decide-opening.ts';
import { commitsBehindDamage, findFiles } from './files.ts';
import { nameOfServer } from './name-of-database.ts';
import { refuseOtherSessions } from './refuse-other-sessions.ts';
import { logDamage } from './verify.ts';
import type { IntegrityWatch } from './watch.ts';

const tryEveryMs = 1_000;

function refused(sentence: string, cause?: unknown): OperatorError {
  return new OperatorError(sentence, { usage: true, cause });
}

const damage = /^SQLITE_(CORRUPT|NOTADB|CANTOPEN|IOERR|READONLY)/;

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && damage.test(String(error.code));
}

/** Turns errors of a damaged database into advice for the operator. */
async function orDamaged<T>(databaseFile: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof Error && isDamage(error.cause) ? error.cause : error;
    if (!isDamage(cause)) throw error;
    throw refused(
      `the database ${databaseFile} cannot be used: ${describeFailure(cause)}. ${damageAdvice}`,
      error,
    );
  }
}

type ServerSettings = Pick<Config, 'DATABASE_POOL' | 'DATABASE_PREPARED'> & {
  DATABASE_URL: string;
};

/** Its id names the connections in the lists of the server. */
interface Replica {
  replicaId: string;
  logger: Pick<Logger, 'warn'>;
}

/** Opens the database of DATABASE_URL. Throws an OperatorError when it cannot be reached or used. */
export async function openServer(
  { DATABASE_URL, DATABASE_POOL, DATABASE_PREPARED }: ServerSettings,
  { replicaId, logger }: Replica,
): Promise<Db> {
  const what = `DATABASE_URL: the database ${nameOfServer(DATABASE_URL)}`;
  const db = openPostgres({
    url: DATABASE_URL,
    connections: DATABASE_POOL,
    isPrepared: DATABASE_PREPARED,
    applicationName: `monitor/${replicaId}`,
    onLost: (error) => {
      logger.warn({ err: error }, 'a connection to the database was lost');
    },
  });
  try {
    const refusal = await refusalOfServer(db).catch((error: unknown) => {
      throw refused(
        `${what} cannot be used (${describeFailure(error)}): check the address, the user and the password, and that the server runs`,
        error,
      );
    });
    if (refusal !== null) throw refused(`${what} ${refusal}`);
    return db;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}

/** No right to make tables, nowhere to make them, or tables of another program. */
const unusable = /^(42501|3F000|42P07)$/;

async function migrateServer(db: Db, name: string): Promise<void> {
  try {
    await migrateToLatest(db);
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null;
    if (!(cause instanceof Error && 'code' in cause && unusable.test(String(cause.code))))
      throw error;
    throw refused(
      `DATABASE_URL: the database ${name} takes no tables of this program (${describeFailure(cause)}): name a database of its own, which the user of the URL owns`,
      error,
    );
  }
}

/** Refuses a database to which a copy of another one did not end. */
export async function refuseUnfinishedMove(db: Db, name: string): Promise<void> {
  const move = await readMove(db);
  if (move?.state !== 'copying') return;
  throw refused(
    `DATABASE_URL: the database ${name} holds a part of ${move.from}: run \`control-plane move --from ${move.from}\` to its end`,
  );
}

interface Patience {
  name: string;
  clock: Clock;
  waitMs: number;
  logger: Pick<Logger, 'warn'>;
}

/** Tries for a while: a replica may start before its database, as one that runs waits for it. */
async function onceThere<T>(open: () => Promise<T>, patience: Patience): Promise<T> {
  const { name, clock, waitMs, logger } = patience;
  const since = clock.monotonic();
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      const cause = error instanceof OperatorError ? error.cause : error;
      if (databaseFailure(cause) !== 'unavailable') throw error;
      if (clock.monotonic() - since >= waitMs) {
        throw new OperatorError(
          `${describeFailure(error)}; it was tried for ${waitMs / 1_000} seconds (DATABASE_FAILOVER_SECONDS)`,
          { cause: error },
        );
      }
      if (tries === 1) {
        logger.warn(
          { database: name, err: cause },
          'the database is away, it is tried until it answers',
        );
      }
      await new Promise<void>((resolve) => void clock.after(tryEveryMs, resolve));
    }
  }
}

/**
 * Opens and migrates the database. Throws an OperatorError when it is damaged, empty or away, and with
 * `mustBeAlone` when another replica uses it.
 */
export async function openWhole(
  { DATABASE_FILE, DATABASE_URL, ENCRYPTION_KEY, ...settings }: Config,
  integrity: IntegrityWatch,
  { mustBeAlone, clock, ...replica }: Replica & { mustBeAlone: boolean; clock: Clock },
): Promise<Db> {
  if (DATABASE_URL !== undefined) {
    const name = nameOfServer(DATABASE_URL);
    const open = async () => {
      const server = await openServer({ ...settings, DATABASE_URL }, replica);
      try {
        if (mustBeAlone) {
          await refuseOtherSessions(server, `the database ${name}`, replica.replicaId);
        }
        await migrateServer(server, name);
        await refuseUnfinishedMove(server, name);
        return server;
      } catch (error) {
        await server.destroy();
        throw error;
      }
    };
    return onceThere(open, {
      ...replica,
      name,
      clock,
      waitMs: settings.DATABASE_FAILOVER_SECONDS * 1_000,
    });
  }
  if (DATABASE_FILE === ':memory:') return openInMemory(migrateToLatest);
  const found = findFiles(DATABASE_FILE, ENCRYPTION_KEY !== undefined);
  const refusal = refusalToOpen(found);
  if (refusal !== null) throw refused(refusal);
  const shared = `${DATABASE_FILE}-shm`;
  if (statSync(shared, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw refused(
      `${shared} is a folder, where the database needs a file that it makes itself: move it away, nothing of the database is in it. Then start again`,
    );
  }
  await orDamaged(DATABASE_FILE, async () => {
    const ignored = commitsBehindDamage(DATABASE_FILE);
    if (ignored > 0) throw refused(`${logDamage(DATABASE_FILE, ignored)}. ${damageAdvice}`);
    await integrity.checkAfterCrash();
  });
  const db = await orDamaged(DATABASE_FILE, () => openDatabase(DATABASE_FILE));
  try {
    await orDamaged(DATABASE_FILE, async () => {
      const { applied } = await migrationState(db);
      const emptied = refusalToOpen({ ...found, databaseBytes: 0, logBytes: null });
      if (applied.length === 0 && found.databaseBytes !== null && emptied !== null) {
        throw refused(emptied.replace('is empty (0 bytes)', 'has no tables'));
      }
      await migrateToLatest(db);
    });
    return db;
  } catch (error) {
    await db.destroy();
    throw error;
  }
}
