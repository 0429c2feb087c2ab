/** Writes the audit log. */
import { oneLine, shorten } from '../core/escape.ts';
import type { KeyHolder } from '../http/authenticate.ts';
import { databaseFailure } from '../db/failure.ts';
import { prepareInserts } from '../db/insert-many.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { changesOf } from './decide/changes.ts';
import type { Services } from '../core/services.ts';

const maxNameLength = 300;

export type AuditActor =
  | { kind: 'PERSON' | 'API_KEY' | 'AGENT'; id: string }
  /** With what is known of somebody who could not prove who they are. */
  | { kind: 'OPERATOR' | 'NOBODY'; name: string };

export function actorOf(holder: KeyHolder): AuditActor {
  if (holder.kind === 'locationKey') return { kind: 'AGENT', id: holder.keyId };
  return { kind: holder.sessionId === undefined ? 'API_KEY' : 'PERSON', id: holder.keyId };
}

export interface AuditRecord {
  accountId: string;
  actor: AuditActor;
  address: string | null;
  operation: string;
  outcome: RowOf<'audit_log'>['outcome'];
  resource?: { type: string; id: string | null } | undefined;
  before?: Readonly<Record<string, unknown>> | null;
  after?: Readonly<Record<string, unknown>> | null;
}

const apiKey = prepareQuery<
  { id: string },
  Pick<RowOf<'api_keys'>, 'name' | 'revoked_at' | 'expires_at'>
>((db, argument) =>
  db
    .selectFrom('api_keys')
    .select(['name', 'revoked_at', 'expires_at'])
    .where('id', '=', argument('id')),
);

/** Their name at this time: they may be renamed or deleted later. */
export async function nameOfActor(db: Db, actor: AuditActor, now: number): Promise<string> {
  switch (actor.kind) {
    case 'PERSON': {
      const row = await db
        .selectFrom('people')
        .select(['name', 'email'])
        .where('id', '=', actor.id)
        .executeTakeFirst();
      // Who removes themselves is gone already.
      return row === undefined ? 'a person who was removed' : `${row.name} <${row.email}>`;
    }
    case 'API_KEY': {
      const [row] = await apiKey.run(db, { id: actor.id });
      if (row === undefined) return 'a key that was deleted';
      if (row.revoked_at !== null) return `${row.name} (revoked)`;
      return (row.expires_at ?? Infinity) <= now ? `${row.name} (expired)` : row.name;
    }
    case 'AGENT': {
      const row = await db
        .selectFrom('location_keys')
        .select(['location', 'masked_key'])
        .where('id', '=', actor.id)
        .executeTakeFirst();
      return row === undefined
        ? 'an agent with a key that was deleted'
        : `an agent of ${row.location}, ${row.masked_key}`;
    }
    case 'OPERATOR':
    case 'NOBODY':
      return actor.name;
  }
}

/** What people call the resource: the first of these fields. */
const naming = ['name', 'header', 'email', 'key', 'host', 'slugName'];

function nameIn(...representations: (Readonly<Record<string, unknown>> | null)[]): string | null {
  for (const each of representations) {
    for (const field of naming) {
      const value = each?.[field];
      if (typeof value === 'string' && value !== '') return shorten(oneLine(value), maxNameLength);
    }
  }
  return null;
}

const insertEntries = prepareInserts('audit_log', [
  ...(['id', 'account_id', 'at', 'actor_kind', 'actor_id', 'actor_name', 'address'] as const),
  ...(['operation', 'outcome', 'resource_type', 'resource_id', 'resource_name'] as const),
  ...(['before_json', 'after_json'] as const),
]);

export async function recordAudit(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  { accountId, actor, resource, before = null, after = null, ...record }: AuditRecord,
): Promise<void> {
  const changes = changesOf(before, after);
  const now = clock.now();
  const entry = {
    id: newId(),
    account_id: accountId,
    at: now,
    actor_kind: actor.kind,
    actor_id: 'id' in actor ? actor.id : null,
    actor_name: shorten(oneLine(await nameOfActor(db, actor, now)), maxNameLength),
    address: record.address,
    operation: record.operation,
    outcome: record.outcome,
    resource_type: resource?.type ?? null,
    resource_id: resource?.id == null ? null : shorten(oneLine(resource.id), maxNameLength),
    resource_name: nameIn(after, before),
    before_json: changes.before && JSON.stringify(changes.before),
    after_json: changes.after && JSON.stringify(changes.after),
  };
  await insertEntries.run(db, [entry]);
}

/**
 * The same after something has happened already: a log that cannot be written is an error of this
 * process, not of the request. Entries of one moment share a commit.
 */
export async function recordDone(
  { logger, commits, ...deps }: Pick<Services, 'clock' | 'newId' | 'logger' | 'commits'>,
  record: AuditRecord,
): Promise<void> {
  try {
    await commits.run((db) => recordAudit({ ...deps, db }, record));
  } catch (error) {
    // Deleted with everything in it, or a disk that is full: others report that.
    if (databaseFailure(error) !== null) return;
    logger.error(
      { err: error, operation: record.operation },
      'an entry of the audit log could not be written',
    );
  }
}
