/** Projects and what they own: rows ↔ wire. */
import type { z } from 'zod';
import type {
  project,
  ProjectBody,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Commit } from '@monitor/shared/contract/analytics.ts';
import type { Services } from '../core/services.ts';
import { toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../db/own-rows.ts';
import { lockKeys } from '../db/lock.ts';
import type { Db, RowOf } from '../db/tables.ts';

export type ProjectRow = RowOf<'projects'>;
/** That a project owns a resource. */
export type LinkRow = RowOf<'project_resources'>;

export function projectToWire(row: ProjectRow): z.input<typeof project> {
  return {
    id: row.id,
    logicalId: row.logical_id,
    name: row.name,
    repoUrl: row.repo_url,
    createdAt: toTimestamp(row.created_at),
    updatedAt: toTimestampOrNull(row.updated_at),
  };
}

/**
 * Waits until nobody else makes or changes a project. What takes over resources also waits for others that do in
 * the account: what belongs to nobody is found by its missing row, which cannot be locked.
 */
export function lockProject(
  db: Db,
  accountId: string,
  logicalId: string,
  { takesOver }: { takesOver: boolean },
): Promise<void> {
  const own = `project ${accountId} ${logicalId}`;
  return lockKeys(db, takesOver ? [own, `owners of resources ${accountId}`] : [own]);
}

export function findProject(
  db: Db,
  accountId: string,
  logicalId: string,
): Promise<ProjectRow | undefined> {
  return ownRows(db, 'projects', accountId).where('logical_id', '=', logicalId).executeTakeFirst();
}

export async function insertProject(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  accountId: string,
  { logicalId, name, repoUrl = null }: ProjectBody['project'],
): Promise<ProjectRow> {
  return db
    .insertInto('projects')
    .values({
      ...{ id: newId(), account_id: accountId, logical_id: logicalId, name },
      ...{ repo_url: repoUrl, created_at: clock.now(), updated_at: null },
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Of a project; older ones say nothing about tests that fail. */
const keptCommits = 200;
const maxCommitText = 1_000;

/** Notes from which commit a project was deployed, when its client says it. */
export async function noteCommit(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { id, account_id: accountId }: ProjectRow,
  info: NonNullable<ProjectBody['repoInfo']> | null,
): Promise<void> {
  if (info?.commitId == null) return;
  const cut = (text: string | null) => text?.slice(0, maxCommitText) ?? null;
  const commit: Commit = {
    ...{ id: info.commitId.slice(0, maxCommitText), message: cut(info.commitMessage) },
    ...{ author: cut(info.commitOwner), branch: cut(info.branchName) },
  };
  const row = { account_id: accountId, project_id: id, deployed_at: clock.now() };
  await db
    .insertInto('project_commits')
    .values({ ...row, commit_json: JSON.stringify(commit) })
    .execute();
  await deleteOwnRows(db, 'project_commits', accountId)
    .where('project_id', '=', id)
    .where('id', 'not in', (from) =>
      from
        .selectFrom('project_commits as newest')
        .select('newest.id')
        .where('newest.project_id', '=', id)
        .orderBy('newest.id', 'desc')
        .limit(keptCommits),
    )
    .execute();
}

/** The project with this name and address; it is written only when they differ. */
export async function saveProject(
  services: Pick<Services, 'db' | 'clock' | 'newId'>,
  accountId: string,
  given: ProjectBody['project'],
): Promise<ProjectRow> {
  const { db, clock } = services;
  const before = await findProject(db, accountId, given.logicalId);
  if (before === undefined) return insertProject(services, accountId, given);
  const { name, repoUrl = before.repo_url } = given;
  if (before.name === name && before.repo_url === repoUrl) return before;
  const changes = { name, repo_url: repoUrl, updated_at: clock.now() };
  await updateOwnRows(db, 'projects', accountId).set(changes).where('id', '=', before.id).execute();
  return { ...before, ...changes };
}

export async function deleteProjectRow(db: Db, row: ProjectRow): Promise<void> {
  await deleteOwnRows(db, 'projects', row.account_id).where('id', '=', row.id).execute();
}

/** What a project owns, in the order in which it came to it. */
export function linksOf(db: Db, row: ProjectRow): Promise<LinkRow[]> {
  return ownRows(db, 'project_resources', row.account_id)
    .where('project_id', '=', row.id)
    .orderBy('id')
    .execute();
}

/** The project owns this resource from now on. */
export async function link(
  db: Db,
  { id: projectId, account_id: accountId }: ProjectRow,
  { type, logicalId, physicalId }: { type: ResourceType; logicalId: string; physicalId: string },
): Promise<LinkRow> {
  return db
    .insertInto('project_resources')
    .values({
      ...{ account_id: accountId, project_id: projectId, type },
      ...{ logical_id: logicalId, physical_id: physicalId, is_uncommitted: 0 },
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The project that owns a resource. */
export async function ownerOf(
  db: Db,
  accountId: string,
  type: ResourceType,
  physicalId: string,
): Promise<Pick<ProjectRow, 'id' | 'name'> | undefined> {
  return db
    .selectFrom('project_resources')
    .innerJoin('projects', 'projects.id', 'project_resources.project_id')
    .select(['projects.id', 'projects.name'])
    .where('project_resources.account_id', '=', accountId)
    .where('project_resources.type', '=', type)
    .where('project_resources.physical_id', '=', physicalId)
    .executeTakeFirst();
}

/** The resource was made anew, or has another name in the project. */
export async function relink(
  db: Db,
  { id, account_id: accountId }: LinkRow,
  changes: { physical_id: string } | { logical_id: string; is_uncommitted: 0 },
): Promise<void> {
  await updateOwnRows(db, 'project_resources', accountId)
    .set(changes)
    .where('id', '=', id)
    .execute();
}

export async function unlink(db: Db, accountId: string, ids: readonly number[]): Promise<void> {
  // SQLite takes some thousand values in a statement.
  for (let at = 0; at < ids.length; at += 1_000) {
    await deleteOwnRows(db, 'project_resources', accountId)
      .where('id', 'in', ids.slice(at, at + 1_000))
      .execute();
  }
}
