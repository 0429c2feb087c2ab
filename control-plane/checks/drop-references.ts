/**
 * Removes references to a deleted object, so that the next change of the referring object does not
 * fail.
 */
import type { Kysely } from 'kysely';
import { jsonValue, withJsonText } from '../db/expressions.ts';
import { updateOwnRows } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';

/** Checks and groups lose their reference to the snippet. */
export async function dropSnippetReferences(
  db: Kysely<Database>,
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
  db: Kysely<Database>,
  accountId: string,
  serviceId: string,
): Promise<void> {
  await updateOwnRows(db, 'checks', accountId)
    .set({ body_json: withJsonText('body_json', '$.triggerIncident', null) })
    .where(jsonValue<string>('body_json', '$.triggerIncident.serviceId'), '=', serviceId)
    .execute();
}
