/** Files of results: rows → wire. */
import type { ArtifactType } from '@monitor/shared/contract/check-result.ts';
import type { Asset } from '@monitor/shared/contract/check-result-routes.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { ArtifactLinks } from './links.ts';
import { isOfCheck, isOfPresentResult } from '../delete-results.ts';
import { idOf } from '../../db/expressions.ts';
import { prepareQuery } from '../../db/prepared.ts';
import type { Db, RowOf } from '../../db/tables.ts';

export type ArtifactRow = RowOf<'artifacts'>;

export interface ResultOfFiles {
  id: string;
  name: string;
  check_id: string;
  check_type: string;
}

/** The result of the files; undefined for unknown and foreign ones. */
export function findResult(
  db: Db,
  accountId: string,
  checkId: string,
  resultId: string,
): Promise<ResultOfFiles | undefined> {
  return db
    .selectFrom('check_results')
    .select(['id', 'name', 'check_id', 'check_type'])
    .where(isOfCheck(accountId, checkId))
    .where('id', '=', idOf(resultId))
    .executeTakeFirst();
}

export function listArtifacts(db: Db, accountId: string, resultId: string): Promise<ArtifactRow[]> {
  return db
    .selectFrom('artifacts')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('result_id', '=', idOf(resultId))
    .orderBy('id')
    .execute();
}

const announced = prepareQuery<
  { accountId: string; location: string; resultId: string; name: string },
  ArtifactRow
>((db, argument) =>
  db
    .selectFrom('artifacts')
    .selectAll()
    .where('account_id', '=', argument('accountId'))
    .where('result_id', '=', idOf(argument('resultId')))
    .where('name', '=', argument('name'))
    .where('location', '=', argument('location')),
);

/** A file that a location announced. */
export async function findAnnounced(
  db: Db,
  file: { accountId: string; location: string; resultId: string; name: string },
): Promise<ArtifactRow | undefined> {
  return (await announced.run(db, file))[0];
}

/** True when a result of the location is stored, with or without files. */
export async function isStored(
  db: Db,
  of: { accountId: string; location: string; resultId: string },
): Promise<boolean> {
  const result = await db
    .selectFrom('check_results')
    .select('seq')
    .where('account_id', '=', of.accountId)
    .where('id', '=', idOf(of.resultId))
    .where('run_location', '=', of.location)
    .executeTakeFirst();
  return result !== undefined;
}

/** The file of a link. The signature of the link replaces the account. */
export function findLinked(
  db: Db,
  resultId: string,
  name: string,
): Promise<ArtifactRow | undefined> {
  return db
    .selectFrom('artifacts')
    .selectAll()
    .where('result_id', '=', idOf(resultId))
    .where('name', '=', name)
    .where(isOfPresentResult('result_id'))
    .executeTakeFirst();
}

export function toWire(
  row: ArtifactRow,
  result: ResultOfFiles,
  links: ArtifactLinks,
  now: number,
): Asset {
  const url = row.state === 'STORED' ? links.to(row.result_id, row.name, now) : null;
  return {
    type: row.type as ArtifactType,
    name: row.name,
    url,
    contentType: row.content_type,
    size: row.size_bytes,
    state: row.state,
    reason: row.reason,
    viewerUrl: url !== null && row.type === 'trace' ? links.toViewer(url) : null,
    source: {
      type: 'check-result',
      checkId: result.check_id,
      checkName: result.name,
      checkType: result.check_type as CheckType,
      resultId: result.id,
    },
  };
}
