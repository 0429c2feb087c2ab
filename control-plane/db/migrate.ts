import { setTimeout as pause } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';
import { byEngine, engineOf, type Engine } from './engine.ts';
import { databaseFailure } from './failure.ts';
import { withoutTimeLimit } from './postgres.ts';
import { orderTextByBytes } from './text-order.ts';
import * as baseline from './baseline.ts';
import * as pushDevices from './migrations/0051-push-devices.ts';
import * as plannedWork from './migrations/0052-planned-work.ts';
import * as auditByResource from './migrations/0053-audit-by-resource.ts';
import * as agentHostNames from './migrations/0054-agent-host-names.ts';
import * as rootCauses from './migrations/0055-root-causes.ts';
import * as servicesOfChecks from './migrations/0056-services-of-checks.ts';
import * as onCallCalendars from './migrations/0057-on-call-calendars.ts';
import * as maintenanceResumed from './migrations/0058-maintenance-resumed.ts';
import * as channelsOfAgents from './migrations/0059-channels-of-agents.ts';
import * as deploymentTriggers from './migrations/0060-deployment-triggers.ts';
import * as owedIncidents from './migrations/0061-owed-incidents.ts';
import * as shadow from './migrations/0062-shadow.ts';
import * as serviceIncidents from './migrations/0063-service-incidents.ts';
import * as projectCommits from './migrations/0064-project-commits.ts';
import * as shadowRetries from './migrations/0065-shadow-retries.ts';
import * as runShards from './migrations/0066-run-shards.ts';
import * as baselines from './migrations/0067-baselines.ts';
import * as countedChecks from './migrations/0068-counted-checks.ts';
import * as endedSubscriptions from './migrations/0069-ended-subscriptions.ts';
import * as shadowReports from './migrations/0070-shadow-reports.ts';
import type { Db } from './tables.ts';

/** Which builds can live with each migration: for builds that do not know it. */
const facts = sql.table('migration_facts');

interface SchemaMigration {
  /**
   * The newest migration of the oldest build that can serve with this one applied. Builds that know it
   * keep serving while a newer one starts, and can be gone back to. Without it older builds refuse.
   */
  oldestBuild?: string | Partial<Record<Engine, string>>;
  up(db: Kysely<unknown>, engine: Engine): Promise<void>;
}

export const baselineName = '0050-baseline';

/** In order of their names. A new migration is a new file and a line here. */
const migrations = {
  [baselineName]: baseline,
  '0051-push-devices': pushDevices,
  '0052-planned-work': plannedWork,
  '0053-audit-by-resource': auditByResource,
  '0054-agent-host-names': agentHostNames,
  '0055-root-causes': rootCauses,
  '0056-services-of-checks': servicesOfChecks,
  '0057-on-call-calendars': onCallCalendars,
  '0058-maintenance-resumed': maintenanceResumed,
  '0059-channels-of-agents': channelsOfAgents,
  '0060-deployment-triggers': deploymentTriggers,
  '0061-owed-incidents': owedIncidents,
  '0062-shadow': shadow,
  '0063-service-incidents': serviceIncidents,
  '0064-project-commits': projectCommits,
  '0065-shadow-retries': shadowRetries,
  '0066-run-shards': runShards,
  '0067-baselines': baselines,
  '0068-counted-checks': countedChecks,
  '0069-ended-subscriptions': endedSubscriptions,
  '0070-shadow-reports': shadowReports,
} satisfies Record<string, SchemaMigration>;

/** Migrations of builds before the baseline, whose last one left the tables that the baseline makes. */
const isBeforeBaseline = (name: string): boolean => name < baselineName;
const lastBeforeBaseline = '0049-heartbeat-runs';

/** All of this build, and those before the baseline that the database has. */
function migrationsOf(engine: Engine, applied: readonly string[]): Record<string, Migration> {
  const before = applied.filter(isBeforeBaseline);
  const ofThisBuild = Object.entries<SchemaMigration>(migrations).map(
    ([name, { oldestBuild, up }]) => [
      name,
      {
        async up(db: Kysely<unknown>) {
          if (engine === 'postgres') {
            // What waits for a lock makes every later query of that table wait.
            await sql`set local lock_timeout = '2s'`.execute(db);
            await sql.raw(withoutTimeLimit).execute(db);
          }
          if (name !== baselineName || before.length === 0) await up(db, engine);
          const oldest = typeof oldestBuild === 'object' ? oldestBuild[engine] : oldestBuild;
          await sql`insert into ${facts} (name, oldest_build) values (${name}, ${oldest ?? name})
            on conflict (name) do nothing`.execute(db);
        },
      },
    ],
  );
  return {
    ...Object.fromEntries(before.map((name) => [name, { up: () => Promise.resolve() }])),
    ...(Object.fromEntries(ofThisBuild) as Record<string, Migration>),
  };
}

export type MigrationName = keyof typeof migrations;

export function isMigrationName(name: string): name is MigrationName {
  return name in migrations;
}

export interface MigrationState {
  /** Applied migrations; empty for a new database, or for one of another program. */
  applied: string[];
  /** Migrations that this build would apply. */
  pending: string[];
  /** Applied migrations of a newer build that this build can serve with. */
  newer: string[];
  /** Applied migrations that this build does not know, and cannot serve with. */
  unknown: string[];
}

/** Compares a database with this build without changing it. */
export async function migrationState(db: Db): Promise<MigrationState> {
  const known = Object.keys(migrations);
  const { rows: tables } = await byEngine({
    sqlite: sql`
      select 1 from sqlite_schema where type = 'table' and name = ${DEFAULT_MIGRATION_TABLE}
    `,
    postgres: sql`
      select 1 from pg_tables
      where schemaname = current_schema() and tablename = ${DEFAULT_MIGRATION_TABLE}
    `,
  }).execute(db);
  const { rows } =
    tables.length === 0
      ? { rows: [] }
      : await sql<{ name: string }>`
          select name from ${sql.table(DEFAULT_MIGRATION_TABLE)} order by name
        `.execute(db);
  const applied = rows.map((row) => row.name);
  const others = applied.filter((name) => !isBeforeBaseline(name) && !known.includes(name));
  const newer =
    others.length === 0 || !applied.includes(baselineName)
      ? []
      : (
          await sql<{ name: string; oldest_build: string }>`
            select name, oldest_build from ${facts}`.execute(db)
        ).rows.flatMap(({ name, oldest_build: oldest }) =>
          others.includes(name) && known.includes(oldest) ? [name] : [],
        );
  return {
    applied,
    pending: known.filter((name) => !applied.includes(name)),
    newer,
    unknown: others.filter((name) => !newer.includes(name)),
  };
}

/** Refuses a database of a newer build, unless its migrations can be lived with: new data could be lost. */
export function refuseNewer({ newer, pending, unknown }: MigrationState, what: string): void {
  if (unknown.length === 0) {
    if (newer.length === 0 || pending.length === 0) return;
    throw new OperatorError(
      `${what} has migrations that this build does not know (${newer.join(', ')}) and lacks others (${pending.join(', ')}): run the newer build`,
    );
  }
  throw new OperatorError(
    `${what} has migrations that this build does not know (${unknown.join(', ')}): run the newer build that made them, or restore a backup from before`,
  );
}

/** About ten minutes, as each attempt waits for locks itself. */
const attempts = 100;
const betweenAttemptsMs = 1_000;

/** True when another replica migrates, or somebody holds the lock of a table. */
function isInTheWay(error: unknown): boolean {
  return (
    databaseFailure(error) === 'conflict' ||
    (error instanceof Error && error.message.startsWith('corrupted migrations'))
  );
}

/** Repeats work on a PostgreSQL while others are in its way; the cause of an error is what counts. */
async function whenOutOfTheWay<T>(db: Db, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const mayRepeat = engineOf(db) === 'postgres' && attempt < attempts && isInTheWay(cause);
      if (!mayRepeat) throw error;
      await pause(betweenAttemptsMs);
    }
  }
}

async function applyMigrations(
  db: Db,
  place: string,
  until: MigrationName | undefined,
): Promise<string[]> {
  const state = await migrationState(db);
  refuseNewer(state, `the database ${place}`);
  if (state.applied.some(isBeforeBaseline) && !state.applied.includes(lastBeforeBaseline)) {
    throw new OperatorError(
      `the database ${place} lacks migrations up to ${lastBeforeBaseline}, which this build no longer has: start the build before this one on it once`,
    );
  }
  // The migrator refuses every migration that it does not know.
  if (until === undefined && state.pending.length === 0) return [];
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrationsOf(engineOf(db), state.applied)) },
  });
  const { error, results } =
    until === undefined ? await migrator.migrateToLatest() : await migrator.migrateTo(until);
  if (error === undefined) return (results ?? []).map((result) => result.migrationName);
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'unknown';
  throw new Error(
    `migration ${failed} failed (${describeFailure(error)}); the database is as it was before it`,
    { cause: error },
  );
}

/**
 * Migrates the database to the newest schema; gives the names of the applied migrations. Throws on
 * failure. `until` names the last migration to apply, for tests of upgrades.
 */
export async function migrateToLatest(db: Db, until?: MigrationName): Promise<string[]> {
  const { rows } = await byEngine({
    sqlite: sql<{ place: string }>`
      select file as place from pragma_database_list where name = 'main'
    `,
    postgres: sql<{ place: string }>`select current_database() as place`,
  }).execute(db);
  const place = rows[0]?.place ?? '';
  const applied = await whenOutOfTheWay(db, () => applyMigrations(db, place, until));
  if (engineOf(db) === 'postgres') await whenOutOfTheWay(db, () => orderTextByBytes(db));
  // Tables that stand in the log alone are lost with it.
  else if (applied.length > 0) await sql`pragma wal_checkpoint(truncate)`.execute(db);
  return applied;
}
