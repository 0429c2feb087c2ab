/** Pages of a list, in both styles of the API. */
import type { SelectQueryBuilder } from 'kysely';
import { invalidQuery } from '../errors/api-error.ts';
import type { Database } from './tables.ts';

export interface PageRequest {
  limit: number;
  /** From 1. */
  page: number;
}

export interface Page<Row> {
  rows: Row[];
  total: number;
  offset: number;
}

/** One page of an ordered query, and how many rows it has in all. */
export async function readPage<Tables extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Tables, Row>,
  { limit, page }: PageRequest,
): Promise<Page<Row>> {
  const offset = (page - 1) * limit;
  const { total } = await query
    .clearSelect()
    .clearOrderBy()
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await query.limit(limit).offset(offset).execute();
  return { rows, total, offset };
}

interface CursorRequest {
  limit: number;
  nextId?: string;
}

interface CursorPage<Row> {
  rows: Row[];
  nextId: string | null;
}

/** The numbers in a `nextId` that an earlier page gave; refuses any other text with 400. */
export function readCursor(nextId: string, parts: number): number[] {
  const texts = nextId.split('.');
  if (texts.length === parts && texts.every((text) => /^\d{1,15}$/.test(text))) {
    return texts.map(Number);
  }
  throw invalidQuery('nextId', 'must be the nextId of an earlier page');
}

/**
 * One page by cursor. `pageAfter` builds the query for rows behind a cursor, in order; `cursorOf`
 * gives a row's own. Rows that come in between two pages never shift the second.
 */
export async function readCursorPage<Tables extends keyof Database, Row>(
  pageAfter: (cursor: number | null) => SelectQueryBuilder<Database, Tables, Row>,
  cursorOf: (row: Row) => number,
  { limit, nextId }: CursorRequest,
): Promise<CursorPage<Row>> {
  const [cursor = null] = nextId === undefined ? [] : readCursor(nextId, 1);
  const found = await pageAfter(cursor)
    .limit(limit + 1)
    .execute();
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { rows, nextId: hasMore ? String(cursorOf(last)) : null };
}
