/**
 * Approved images of checks: one for each location, platform and path. The images are files among the code bundles.
 * Agents get the list with their check.
 */
import {
  maxBaselinesOfCheck,
  type ScreenshotComparison,
} from '@monitor/shared/contract/baseline.ts';
import type { AssignedBaseline } from '@monitor/shared/contract/agent-protocol.ts';
import { checkTypes, findAgentType } from '@monitor/shared/contract/checks/index.ts';
import type { Services } from '../core/services.ts';
import { eachOf } from '../db/expressions.ts';
import { deleteOwnRows, ownRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import { publishCheck } from './check-consumer.ts';
import { effectiveFields, groupOf } from './effective-check.ts';
import { lockChecks } from './lock-checks.ts';
import { findCheck } from './store.ts';

export type BaselineRow = RowOf<'baselines'>;

export const imagePathOf = (digest: string): string => `files/${digest}`;
export const digestOfImage = (path: string): string => path.slice('files/'.length);

/** Types whose tests compare screenshots. */
export const typesWithScreenshots = Object.values(checkTypes).flatMap(({ type, definitionKeys }) =>
  definitionKeys.includes('screenshotMasks') ? [type] : [],
);

/** By location, platform and path. */
export function listBaselines(db: Db, accountId: string, checkId: string): Promise<BaselineRow[]> {
  return ownRows(db, 'baselines', accountId)
    .where('check_id', '=', checkId)
    .orderBy('location')
    .orderBy('platform')
    .orderBy('path')
    .execute();
}

/** Those of checks in a location, as agents get them. */
export async function baselinesOf(
  db: Db,
  { accountId, location }: { accountId: string; location: string },
  rows: readonly { id: string; type: string }[],
): Promise<Partial<Record<string, AssignedBaseline[]>>> {
  const ids = rows
    .filter(({ type }) => findAgentType(type)?.definitionKeys.includes('screenshotMasks'))
    .map(({ id }) => id);
  if (ids.length === 0) return {};
  const found = await ownRows(db, 'baselines', accountId)
    .where('location', '=', location)
    .where('check_id', 'in', eachOf(ids))
    .orderBy('path')
    .execute();
  const toAssigned = (row: BaselineRow) => ({
    checkId: row.check_id,
    baseline: {
      ...{ path: row.path, platform: row.platform, deployedDigest: row.deployed_digest },
      digest: digestOfImage(row.image_path),
    },
  });
  const groups = Map.groupBy(found.map(toAssigned), ({ checkId }) => checkId);
  return Object.fromEntries(
    [...groups].map(([id, all]) => [id, all.map(({ baseline }) => baseline)]),
  );
}

/** Changes the baselines of a check, and lets agents know. Throws 404 for a check that nobody saved. */
async function change<T>(
  services: Services,
  accountId: string,
  checkId: string,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const { result, steps } = await services.commits.run(async (db) => {
    await lockChecks(db, [checkId]);
    const known = await findCheck(db, accountId, checkId);
    if (known?.is_trial !== 0) throw notFound('check', checkId);
    const result = await work(db);
    const row = { ...known, revision: known.revision + 1 };
    await db
      .updateTable('checks')
      .set({ revision: row.revision })
      .where('id', '=', checkId)
      .execute();
    const effective = effectiveFields(row, await groupOf(db, row));
    const changed = { row, before: effective, effective };
    return { result, steps: await publishCheck(services, db, 'changed', changed) };
  });
  services.commits.after(steps);
  return result;
}

/** What people try is compared with the same images as the check that it is of. */
export async function copyBaselines(
  { newId }: Pick<Services, 'newId'>,
  db: Db,
  of: { account_id: string; id: string },
  checkId: string,
): Promise<void> {
  const rows = await listBaselines(db, of.account_id, of.id);
  if (rows.length === 0) return;
  const copies = rows.map((row) => ({ ...row, id: newId(), check_id: checkId }));
  await db.insertInto('baselines').values(copies).execute();
}

export interface ApprovedImage extends Pick<
  ScreenshotComparison,
  'path' | 'platform' | 'project' | 'deployedDigest'
> {
  digest: string;
  sizeBytes: number;
}

/** Puts images in the place of what was approved before. Throws 409 beyond what a check may have. */
export function saveBaselines(
  services: Services,
  { accountId, checkId, location }: { accountId: string; checkId: string; location: string },
  images: readonly ApprovedImage[],
): Promise<BaselineRow[]> {
  return change(services, accountId, checkId, async (db) => {
    const rows: BaselineRow[] = [];
    for (const image of images) {
      const fields = {
        ...{ project: image.project, image_path: imagePathOf(image.digest) },
        ...{ size_bytes: image.sizeBytes, deployed_digest: image.deployedDigest },
        approved_at: services.clock.now(),
      };
      const row = await db
        .insertInto('baselines')
        .values({
          ...{ id: services.newId(), account_id: accountId, check_id: checkId, location },
          ...{ platform: image.platform, path: image.path, ...fields },
        })
        .onConflict((conflict) =>
          conflict.columns(['check_id', 'location', 'platform', 'path']).doUpdateSet(fields),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      rows.push(row);
    }
    const all = await listBaselines(db, accountId, checkId);
    if (all.length > maxBaselinesOfCheck) {
      throw new ApiError(
        'CONFLICT',
        `the check would have ${all.length} approved images; it may have ${maxBaselinesOfCheck}: withdraw some`,
      );
    }
    return rows;
  });
}

export function deleteBaseline(
  services: Services,
  accountId: string,
  checkId: string,
  id: string,
): Promise<void> {
  return change(services, accountId, checkId, async (db) => {
    const { numDeletedRows } = await deleteOwnRows(db, 'baselines', accountId)
      .where('check_id', '=', checkId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) throw notFound('baseline', id);
  });
}
