/** What names a thing that is deleted goes without it, rather than failing at the next change. */
import type { Kysely } from 'kysely';
import { jsonValue, withJsonNull } from '../db/expressions.ts';
import type { Database } from '../db/tables.ts';

/** Checks and groups that use a snippet go without. */
export async function dropSnippetReferences(
  db: Kysely<Database>,
  accountId: string,
  snippetId: number,
): Promise<void> {
  for (const table of ['checks', 'check_groups'] as const) {
    for (const path of ['$.setupSnippetId', '$.tearDownSnippetId']) {
      await db
        .updateTable(table)
        .set({ body_json: withJsonNull('body_json', path) })
        .where('account_id', '=', accountId)
        .where(jsonValue<number>('body_json', path), '=', snippetId)
        .execute();
    }
  }
}

/** Checks that would open incidents on a service open none. */
export async function dropServiceReferences(
  db: Kysely<Database>,
  accountId: string,
  serviceId: string,
): Promise<void> {
  await db
    .updateTable('checks')
    .set({ body_json: withJsonNull('body_json', '$.triggerIncident') })
    .where('account_id', '=', accountId)
    .where(jsonValue<string>('body_json', '$.triggerIncident.serviceId'), '=', serviceId)
    .execute();
}
