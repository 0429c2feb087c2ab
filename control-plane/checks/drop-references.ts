/**
 * Removes references to a deleted object, so that the next change of the referring object does not
 * fail.
 */
import { jsonValue, withJsonText } from '../db/expressions.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';

/** Checks and groups lose their reference to the snippet. */
export async function dropSnippetReferences(
  db: Db,
  accountId: string,
  snippetId: number,
): Promise<void> {
  for (const table of ['checks', 'check_groups'] as const) {
    for (const path of ['$.setupSnippetId', '$.tearDownSnippetId']) {
      await db
        .updateTable(table)
        .set({ body_json: withJsonText('body_json', path, null) })
        .where('account_id', '=', accountId)
        .where(jsonValue<number>('body_json', path), '=', snippetId)
        .execute();
    }
  }
}

/** Checks stop opening incidents on the service. */
export async function dropServiceReferences(
  db: Db,
  accountId: string,
  serviceId: string,
): Promise<void> {
  await updateOwnRows(db, 'checks', accountId)
    .set({ body_json: withJsonText('body_json', '$.triggerIncident', null) })
    .where(jsonValue<string>('body_json', '$.triggerIncident.serviceId'), '=', serviceId)
    .execute();
}
