/** Payloads in a query of results: on PostgreSQL they are in the rows of their results. */
import { sql, type SelectQueryBuilder } from 'kysely';
import type { EncodedPayload } from '../db/columns.ts';
import { byEngine, engineOf } from '../db/engine.ts';
import type { Database, Db } from '../db/tables.ts';

/** A column of the payload, in a query that `joinPayloads` has joined; null without a payload. */
export function payloadColumn<C extends keyof EncodedPayload>(column: C) {
  return byEngine({
    sqlite: sql<EncodedPayload[C] | null>`${sql.ref(`result_payloads.${column}`)}`,
    postgres: sql<EncodedPayload[C] | null>`${sql.ref(`check_results.${column}`)}`,
  });
}

export function joinPayloads<Row>(
  db: Db,
  results: SelectQueryBuilder<Database, 'check_results', Row>,
): SelectQueryBuilder<Database, 'check_results', Row> {
  if (engineOf(db) === 'postgres') return results;
  const joined = results.leftJoin(
    'result_payloads',
    'result_payloads.result_seq',
    'check_results.seq',
  );
  // Only `payloadColumn` names columns of the other table.
  return joined as unknown as typeof results;
}
