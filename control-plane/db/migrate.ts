import { setTimeout as pause } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';
import { byEngine, engineOf, type Engine } from './engine.ts';
import { databaseFailure } from './failure.ts';
import { withoutTimeLimit } from './postgres.ts';
import { orderTextByBytes } from './text-order.ts';
import * as postgresSchema from './postgres-schema.ts';
import type { Database } from './tables.ts';
import * as first from './migrations/0001-first.ts';
import * as wholeApi from './migrations/0002-whole-api.ts';
import * as scriptsAndArtifacts from './migrations/0003-scripts-and-artifacts.ts';
import * as alerting from './migrations/0004-alerting.ts';
import * as statusPages from './migrations/0005-status-pages.ts';
import * as maintenance from './migrations/0006-maintenance.ts';
import * as rollUps from './migrations/0007-roll-ups.ts';
import * as certificates from './migrations/0008-certificates.ts';
import * as faults from './migrations/0009-faults.ts';
import * as outboxHeads from './migrations/0010-outbox-heads.ts';
import * as agentBoundary from './migrations/0011-agent-boundary.ts';
import * as receivableTime from './migrations/0012-receivable-time.ts';
import * as droppedPayloads from './migrations/0013-dropped-payloads.ts';
import * as damage from './migrations/0014-damage.ts';
import * as web from './migrations/0015-web.ts';
import * as credentials from './migrations/0016-credentials.ts';
import * as agentWait from './migrations/0017-agent-wait.ts';
import * as agentHealth from './migrations/0018-agent-health.ts';
import * as agentLeases from './migrations/0019-agent-leases.ts';
import * as rollUpInbox from './migrations/0020-roll-up-inbox.ts';
import * as replicas from './migrations/0021-replicas.ts';
import * as bundlesInTheStore from './migrations/0022-bundles-in-the-store.ts';
import * as openRuns from './migrations/0023-open-runs.ts';
import * as shapeOfResults from './migrations/0024-shape-of-results.ts';
import * as daysOfRuns from './migrations/0025-days-of-runs.ts';
import * as people from './migrations/0026-people.ts';
import * as auditLog from './migrations/0027-audit-log.ts';
import * as secondFactor from './migrations/0028-second-factor.ts';
import * as personIdentities from './migrations/0029-person-identities.ts';
import * as trials from './migrations/0030-trials.ts';
import * as alertGroups from './migrations/0031-alert-groups.ts';
import * as acknowledgements from './migrations/0032-acknowledgements.ts';
import * as openAlerts from './migrations/0033-open-alerts.ts';
import * as escalationPolicies from './migrations/0034-escalation-policies.ts';
import * as makersOfInvitations from './migrations/0035-makers-of-invitations.ts';
import * as passkeys from './migrations/0036-passkeys.ts';
import * as subscribedServices from './migrations/0037-subscribed-services.ts';
import * as makersOfKeys from './migrations/0038-makers-of-keys.ts';
import * as projects from './migrations/0039-projects.ts';
import * as testSessions from './migrations/0040-test-sessions.ts';
import * as slackMessages from './migrations/0041-slack-messages.ts';
import * as webhookSubscriptions from './migrations/0042-webhook-subscriptions.ts';
import * as resultKeys from './migrations/0043-result-keys.ts';
import * as heldDeletions from './migrations/0045-held-deletions.ts';
import * as windowMutes from './migrations/0046-window-mutes.ts';
import * as heldSnapshots from './migrations/0047-held-snapshots.ts';
import * as refusals from './migrations/0048-refusals.ts';
import * as heartbeatRuns from './migrations/0049-heartbeat-runs.ts';

/** Up to 0018, for SQLite. */
const onSqlite = {
  '0001-first': first,
  '0002-whole-api': wholeApi,
  '0003-scripts-and-artifacts': scriptsAndArtifacts,
  '0004-alerting': alerting,
  '0005-status-pages': statusPages,
  '0006-maintenance': maintenance,
  '0007-roll-ups': rollUps,
  '0008-certificates': certificates,
  '0009-faults': faults,
  '0010-outbox-heads': outboxHeads,
  '0011-agent-boundary': agentBoundary,
  '0012-receivable-time': receivableTime,
  '0013-dropped-payloads': droppedPayloads,
  '0014-damage': damage,
  '0015-web': web,
  '0016-credentials': credentials,
  '0017-agent-wait': agentWait,
  '0018-agent-health': agentHealth,
};

/** Which builds can live with each later migration: for builds that do not know it. */
const facts = sql.table('migration_facts');
/** Makes that table; a build that knows it knows all migrations before it. */
const factsSince = '0022-bundles-in-the-store';

interface MigrationOfBoth {
  /**
   * The newest migration of the oldest build that can serve with this one applied. Builds that know it
   * keep serving while a newer one starts, and can be gone back to. Without it older builds refuse.
   */
  oldestBuild?: string | Partial<Record<Engine, string>>;
  up(db: Kysely<unknown>, engine: Engine): Promise<void>;
}

/** In order of their names. A new migration is a new file and a line here. */
const onBoth = {
  '0019-agent-leases': agentLeases,
  '0020-roll-up-inbox': rollUpInbox,
  '0021-replicas': replicas,
  '0022-bundles-in-the-store': bundlesInTheStore,
  '0023-open-runs': openRuns,
  '0024-shape-of-results': shapeOfResults,
  '0025-days-of-runs': daysOfRuns,
  '0026-people': people,
  '0027-audit-log': auditLog,
  '0028-second-factor': secondFactor,
  '0029-person-identities': personIdentities,
  '0030-trials': trials,
  '0031-alert-groups': alertGroups,
  '0032-acknowledgements': acknowledgements,
  '0033-open-alerts': openAlerts,
  '0034-escalation-policies': escalationPolicies,
  '0035-makers-of-invitations': makersOfInvitations,
  '0036-passkeys': passkeys,
  '0037-subscribed-services': subscribedServices,
  '0038-makers-of-keys': makersOfKeys,
  '0039-projects': projects,
  '0040-test-sessions': testSessions,
  '0041-slack-messages': slackMessages,
  '0042-webhook-subscriptions': webhookSubscriptions,
  '0043-result-keys': resultKeys,
  '0045-held-deletions': heldDeletions,
  '0046-window-mutes': windowMutes,
  '0047-held-snapshots': heldSnapshots,
  '0048-refusals': refusals,
  '0049-heartbeat-runs': heartbeatRuns,
} satisfies Record<string, MigrationOfBoth>;

function migrationsOf(engine: Engine): Record<string, Migration> {
  const later = Object.entries<MigrationOfBoth>(onBoth).map(([name, { oldestBuild, up }]) => [
    name,
    {
      async up(db: Kysely<unknown>) {
        if (engine === 'postgres') {
          // What waits for a lock makes every later query of that table wait.
          await sql`set local lock_timeout = '2s'`.execute(db);
          await sql.raw(withoutTimeLimit).execute(db);
        }
        await up(db, engine);
        if (name > factsSince) {
          const oldest = typeof oldestBuild === 'object' ? oldestBuild[engine] : oldestBuild;
          await sql`insert into ${facts} (name, oldest_build) values (${name}, ${oldest ?? name})
            on conflict (name) do nothing`.execute(db);
        }
      },
    },
  ]);
  return {
    ...(engine === 'sqlite' ? onSqlite : { '0018-agent-health': postgresSchema }),
    ...(Object.fromEntries(later) as Record<string, Migration>),
  };
}

export type MigrationName = keyof typeof onSqlite | keyof typeof onBoth;

export function isMigrationName(name: string): name is MigrationName {
  return name in onSqlite || name in onBoth;
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
export async function migrationState(db: Kysely<Database>): Promise<MigrationState> {
  const known = Object.keys(migrationsOf(engineOf(db)));
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
  const others = applied.filter((name) => !known.includes(name));
  const newer =
    others.length === 0 || !applied.includes(factsSince)
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
async function whenOutOfTheWay<T>(db: Kysely<Database>, work: () => Promise<T>): Promise<T> {
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
  db: Kysely<Database>,
  place: string,
  until: MigrationName | undefined,
): Promise<string[]> {
  const state = await migrationState(db);
  refuseNewer(state, `the database ${place}`);
  // The migrator refuses every migration that it does not know.
  if (until === undefined && state.pending.length === 0) return [];
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrationsOf(engineOf(db))) },
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
export async function migrateToLatest(
  db: Kysely<Database>,
  until?: MigrationName,
): Promise<string[]> {
  const { rows } = await byEngine({
    sqlite: sql<{ place: string }>`
      select file as place from pragma_database_list where name = 'main'
    `,
    postgres: sql<{ place: string }>`select current_database() as place`,
  }).execute(db);
  const place = rows[0]?.place ?? '';
  const applied = await whenOutOfTheWay(db, () => applyMigrations(db, place, until));
  if (engineOf(db) === 'postgres') await whenOutOfTheWay(db, () => orderTextByBytes(db));
  return applied;
}
